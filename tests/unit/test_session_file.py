"""A session's file may hold anything: it is a session or it is passed over."""

from __future__ import annotations

import gc
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfslowtop.sources import session_file
from tfslowtop.sources.session_file import Record, find_sessions, write

RECORD = {"pid": 7, "argv": ["t.py"], "cwd": "/", "started": 1e9, "token": "t", "code": 3}
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=9),
    st.lists(st.integers() | st.text(max_size=3), max_size=3),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("sessions")
    place.chmod(0o700)
    (place / "one").mkdir()
    # Deeply nested JSON reaches the limit of recursion. A collection there calls Hypothesis, which fails.
    gc.disable()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(session_file.HOME_VARIABLE, str(place))
        yield place
    gc.enable()


def found(home, data: bytes) -> list:
    (home / "one" / "session.json").write_bytes(data)
    sessions = list(find_sessions())
    for session in sessions:  # what the list shows
        assert session.describe()
        assert session.last_output == ""
    return sessions


def test_a_sound_one_is_found(home):
    assert len(found(home, json.dumps(RECORD).encode())) == 1
    write(home / "one", Record(7, ("t.py", "\udcff"), "/", 5.0, "t", 0))
    assert len(found(home, (home / "one" / "session.json").read_bytes())) == 1


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(list(RECORD)), VALUES)
def test_any_value_in_any_field(home, name, value):
    found(home, json.dumps({**RECORD, name: value}).encode("utf-8", "surrogatepass"))


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**32))
def test_any_damage(home, seed):
    rng, data = random.Random(seed), bytearray(json.dumps(RECORD).encode())
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(3)] = rng.choice(
            [b"", b"9" * 50, b"[" * 3000, b"\xff", b'"', b"null", b"1e999"]
        )
        data = data or bytearray(b"x")
    found(home, bytes(data))


@pytest.mark.parametrize(
    "data",
    [b"", b"[" * 100_000, b'{"pid": ' + b"9" * 5000 + b"}", b"\xff\xfe", bytes(5_000_000)],
    ids=["empty", "deep", "huge", "binary", "long"],
)
def test_hostile_files(home, data):
    assert found(home, data) == []
