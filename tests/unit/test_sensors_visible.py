"""CUDA_VISIBLE_DEVICES, by number, by UUID and for MIG slices, as NVIDIA documents it."""

from __future__ import annotations

import pytest

from tfslowtop.agent.hooks.allocator import cuda_variables
from tfslowtop.sensors.visible import Known, cuda_numbers, parse_cuda_variables

ALIKE = [Known("0", "GPU-aa11", "H"), Known("1", "GPU-ab22", "H"), Known("2", "GPU-cc33", "H")]
MIXED = [Known("0", "GPU-aa11", "T4"), Known("1", "GPU-ab22", "A100")]
SLICED = [Known("0:0", "MIG-11", "A", "0"), Known("0:1", "MIG-12", "A", "0"), Known("1", "GPU-bb", "A")]


@pytest.mark.parametrize(
    ("value", "order", "devices", "expected"),
    [
        (None, None, ALIKE, {"0": 0, "1": 1, "2": 2}),
        ("2,0", None, ALIKE, {"2": 0, "0": 1}),
        (" 1 ", None, ALIKE, {"1": 0}),
        ("", None, ALIKE, {}),
        ("-1", None, ALIKE, {}),
        ("NoDevFiles", None, ALIKE, {}),
        ("1,-1,0", None, ALIKE, {"1": 0}),
        ("0,7,1", None, ALIKE, {"0": 0}),
        ("0,0", None, ALIKE, {}),
        ("GPU-cc33,GPU-aa11", None, ALIKE, {"2": 0, "0": 1}),
        ("GPU-c", None, ALIKE, {"2": 0}),
        ("GPU-a", None, ALIKE, {}),
        ("GPU-aa11,1", None, ALIKE, {"0": 0}),
        ("1", None, MIXED, None),
        (None, None, MIXED, None),
        ("1", "PCI_BUS_ID", MIXED, {"1": 0}),
        ("GPU-ab22", None, MIXED, {"1": 0}),
        ("MIG-12", None, SLICED, {"0:1": 0}),
        ("0", None, SLICED, None),
        (None, None, SLICED, None),
        ("7", None, [], {}),
    ],
)
def test_cuda_visible_devices(value, order, devices, expected):
    assert cuda_numbers(value, order, devices) == expected


@pytest.mark.parametrize(
    ("value", "devices", "expected"),
    [
        ("2,0", ALIKE, {"2": 0, "0": 1}),
        ("GPU-cc33", ALIKE, {"2": 0}),
        ("MIG-12,MIG-11", SLICED, {"0:1": 0, "0:0": 1}),
        ("", ALIKE, {}),
        (None, ALIKE, {"0": 0, "1": 1, "2": 2}),
    ],
)
def test_as_the_program_has_set_it_itself(value, devices, expected, monkeypatch):
    """From the agent's reading of its environment to the numbers; unset and empty are not the same."""
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if value is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert parse_cuda_variables(cuda_variables()) == (value, "PCI_BUS_ID")
    assert cuda_numbers(*parse_cuda_variables(cuda_variables()), devices) == expected
