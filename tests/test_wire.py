"""The wire: any event round-trips, any garbage is refused in one sentence."""

from __future__ import annotations

import dataclasses
import json
import math
import struct
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfslowtop.agent import events, wire
from tfslowtop.agent.events import SAMPLE, Gauge, Hello, Note, Samples, Stop
from tfslowtop.agent.wire import MAX_PAYLOAD, Decoder, WireError, encode

TEXT = st.text(st.characters(), max_size=50)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = {
    int: NUMBERS,
    str: TEXT,
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
    tuple[events.Reason, ...]: st.lists(st.builds(events.Reason, TEXT, TEXT, TEXT, TEXT), max_size=3).map(
        tuple
    ),
    tuple[str, ...]: st.lists(TEXT, max_size=5).map(tuple),
    tuple[int, ...]: st.lists(NUMBERS, max_size=40).map(tuple),
}
RECORDS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=20)


def _strategy(kind: type) -> st.SearchStrategy:
    if kind is Samples:
        packed = RECORDS.map(lambda rs: b"".join(SAMPLE.pack(*r) for r in rs))
        return st.builds(Samples, st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1), packed)
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{f.name: VALUES[hints[f.name]] for f in dataclasses.fields(kind)})


MESSAGES = st.one_of([_strategy(kind) for kind in typing.get_args(events.Message)])


def test_every_message_of_the_vocabulary_has_a_wire_form():
    assert set(wire._KINDS) == set(typing.get_args(events.Message))


@given(st.lists(MESSAGES, max_size=5), st.integers(1, 40))
def test_any_events_round_trip_however_the_bytes_are_cut(messages, step):
    data = b"".join(map(encode, messages))
    decoder, received = Decoder(), []
    for start in range(0, len(data), step):
        received += decoder.feed(data[start : start + step])
    assert received == messages


def test_a_gauge_may_be_missing_or_infinite():
    for value in (math.nan, math.inf):
        (gauge,) = Decoder().feed(encode(Gauge("rss", 1, value)))
        assert gauge.value == value or (math.isnan(gauge.value) and math.isnan(value))


@given(st.binary(max_size=300))
def test_garbage_is_refused_or_incomplete_but_never_crashes(data):
    try:
        for message in Decoder().feed(data):
            assert type(message) in wire._KINDS
    except WireError as error:
        assert "\n" not in str(error)


@given(st.integers(0, 255), st.binary(max_size=200))
def test_a_frame_with_a_garbage_payload_is_refused_or_valid(kind, payload):
    frame = struct.pack("!IB", len(payload), kind) + payload
    try:
        (message,) = Decoder().feed(frame)
    except WireError:
        return
    (again,) = Decoder().feed(encode(message))
    assert again == message or message != message  # NaN differs from itself


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(st.integers(0, len(wire._KINDS) - 1), JSON)
def test_json_of_the_wrong_shape_is_refused(kind, value):
    payload = json.dumps(value).encode()
    try:
        messages = list(Decoder().feed(struct.pack("!IB", len(payload), kind) + payload))
    except WireError:
        return
    hints = typing.get_type_hints(type(messages[0]))
    for field in dataclasses.fields(messages[0]):
        wanted = typing.get_origin(hints[field.name]) or hints[field.name]
        assert type(getattr(messages[0], field.name)) is wanted


@pytest.mark.parametrize("payload", [b"[" * 100_000, b"[" + b"9" * 10_000 + b"]", b'["\xff"]', b"[1e999]"])
def test_hostile_json_is_refused(payload):
    with pytest.raises(WireError):
        list(Decoder().feed(struct.pack("!IB", len(payload), wire._NUMBER[Hello]) + payload))


def test_a_frame_over_the_limit_is_refused_before_it_arrives():
    with pytest.raises(WireError, match="limit"):
        list(Decoder().feed(struct.pack("!IB", MAX_PAYLOAD + 1, 0)))
    with pytest.raises(ValueError, match="limit"):
        encode(Note("x" * (MAX_PAYLOAD + 1)))


def test_what_came_before_a_bad_frame_is_delivered():
    messages = Decoder().feed(encode(Stop()) + struct.pack("!IB", 0, 200))
    assert next(messages) == Stop()
    with pytest.raises(WireError):
        next(messages)


def test_a_full_batch_fits_into_a_frame():
    assert encode(Samples(0, 0, bytes(SAMPLE.size * wire.MAX_SAMPLES)))
