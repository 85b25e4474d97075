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

from tfslowtop.agent.protocol import events, wire
from tfslowtop.agent.protocol.events import SAMPLE, Gauge, Hello, Note, Samples, Stop
from tfslowtop.agent.protocol.wire import MAX_PAYLOAD, Decoder, WireError, encode

TEXT = st.text(max_size=40)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = {
    int: NUMBERS,
    str: TEXT,
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
    tuple[events.Reason, ...]: st.lists(
        st.builds(events.Reason, *[TEXT] * 8, st.lists(st.integers(0, 2**62 - 1), max_size=3).map(tuple)),
        max_size=3,
    ).map(tuple),
    tuple[str, ...]: st.lists(TEXT, max_size=5).map(tuple),
    tuple[int, ...]: st.lists(NUMBERS, max_size=40).map(tuple),
}
RECORDS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=20)


def _values(kind: type, name: str, hint: object, *, bounded: bool) -> st.SearchStrategy:
    hint = getattr(hint, "__supertype__", hint)
    if hint is int and bounded:
        return st.integers(*wire._RANGES.get((kind, name), wire._COUNT))
    if hint == tuple[int, ...] and bounded:
        return st.lists(st.integers(*wire._COUNT), max_size=40).map(tuple)
    return VALUES[hint]


def _strategy(kind: type, *, bounded: bool = True) -> st.SearchStrategy:
    if kind is Samples:
        packed = RECORDS.map(lambda rs: b"".join(SAMPLE.pack(*r) for r in rs))
        return st.builds(Samples, st.integers(0, 2**32 - 1), st.integers(0, wire.MAX_FIRST), packed)
    hints = typing.get_type_hints(kind)
    names = [f.name for f in dataclasses.fields(kind)]
    return st.builds(kind, **{name: _values(kind, name, hints[name], bounded=bounded) for name in names})


KINDS = typing.get_args(events.Message)
MESSAGES = st.one_of([_strategy(kind) for kind in KINDS])
#: With numbers out of their bounds and half characters, as a file name that is not UTF-8 has them.
HALVES = st.text(st.sampled_from("aé\udcff\ud800"), max_size=9)
UNBOUNDED = st.one_of([_strategy(kind, bounded=False) for kind in KINDS if kind is not Samples])


def test_every_message_of_the_vocabulary_has_a_wire_form():
    assert set(wire._KINDS) == set(typing.get_args(events.Message))


@given(st.lists(MESSAGES, max_size=5), st.integers(1, 40))
def test_any_events_round_trip_however_the_bytes_are_cut(messages, step):
    data = b"".join(map(encode, messages))
    decoder, received = Decoder(), []
    for start in range(0, len(data), step):
        received += decoder.feed(data[start : start + step])
    assert received == messages


@given(UNBOUNDED, HALVES, st.sampled_from([-(10**30), -1, 10**30]))
def test_whatever_is_encoded_decodes(message, text, number):
    (again,) = Decoder().feed(encode(message))
    assert type(again) is type(message)
    note, stream = Note(text), events.Stream(number, text, text, text, number)
    assert [type(m) for m in Decoder().feed(encode(note) + encode(stream))] == [Note, events.Stream]


def test_long_texts_are_cut_by_the_sender_and_refused_by_the_receiver():
    (note,) = Decoder().feed(encode(Note("x" * 100_000)))
    assert len(note.text) == 8192 and note.text.endswith("…")
    payload = json.dumps(["x" * 100_000]).encode()
    with pytest.raises(WireError, match="100000 characters"):
        list(Decoder().feed(struct.pack("!IB", len(payload), wire.number_of(Note)) + payload))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Hello, [3, "\ud800", 1, "3"]),
        (Hello, [2**64, "t", 1, "3"]),
        (Gauge, ["g", -1, 0.0]),
        (events.Block, [0, 2, [], 0]),
        (events.Block, [0, -2, [], 0]),
        (events.Lost, [0, 10**300]),
        (events.Stream, [2**32, "", "", "", 0]),
        (events.Folded, [0, 0, -1, 0, 0, 0, 0, 0, 0, []]),
        (events.Folded, [0, 0, 1, 0, 0, 0, 0, 0, 0, [0] * 5000]),
        (events.About, ["", ["x"] * 2000, []]),
    ],
)
def test_what_is_out_of_its_bounds_is_refused(kind, fields):
    payload = json.dumps(fields).encode()
    with pytest.raises(WireError):
        list(Decoder().feed(struct.pack("!IB", len(payload), wire.number_of(kind)) + payload))


def test_samples_out_of_their_bounds_are_refused():
    for body in (struct.pack("!IQ", 0, 2**63), struct.pack("!IQ", 0, 0) + bytes(24 * 8193)):
        with pytest.raises(WireError):
            list(Decoder().feed(struct.pack("!IB", len(body), wire.number_of(Samples)) + body))


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
        hint = getattr(hints[field.name], "__supertype__", hints[field.name])
        wanted = typing.get_origin(hint) or hint
        assert type(getattr(messages[0], field.name)) is wanted


@pytest.mark.parametrize("payload", [b"[" * 100_000, b"[" + b"9" * 10_000 + b"]", b'["\xff"]', b"[1e999]"])
def test_hostile_json_is_refused(payload):
    with pytest.raises(WireError):
        list(Decoder().feed(struct.pack("!IB", len(payload), wire._NUMBER[Hello]) + payload))


def test_a_frame_over_the_limit_is_refused_before_it_arrives():
    with pytest.raises(WireError, match="limit"):
        list(Decoder().feed(struct.pack("!IB", MAX_PAYLOAD + 1, 0)))
    with pytest.raises(ValueError, match="limit"):
        encode(events.Output("x" * (MAX_PAYLOAD + 1)))


def test_what_came_before_a_bad_frame_is_delivered():
    messages = Decoder().feed(encode(Stop()) + struct.pack("!IB", 0, 200))
    assert next(messages) == Stop()
    with pytest.raises(WireError):
        next(messages)


def test_a_full_batch_fits_into_a_frame():
    assert encode(Samples(0, 0, bytes(SAMPLE.size * wire.MAX_SAMPLES)))


#: The protocol, kind by kind. An agent and a watcher that differ in it misunderstand each other, so whoever
#: changes this list raises PROTOCOL in the same commit. Recordings need not care: their fields have names.
PROTOCOL_PINNED = 7
PINNED = """
    0 Hello protocol token pid python
    1 About tensorflow devices shown
    2 Phase name detail at
    3 Stream id name kind file line library
    4 Samples stream first packed
    5 Folded stream first count start end wall_min wall_max wall_sum cpu_sum sketch
    6 Trace function file line number at wall reasons user_file user_line nested jit library
    7 Gauge name at value
    8 Toggled iteration fixes at
    9 Failed iteration file line message traceback
    10 Lost stream samples
    11 Note text
    12 Output text
    13 Ended code how at
    14 SetFixes fixes
    15 Stop
    16 Block iteration arm fixes at
    17 SetParams params
    18 Compare a b block_seconds
    19 Tally what symbol file line count wall size at library package module function_line array container \
bounded inside native
    20 StepChosen stream why at trains
    21 ChooseStep stream
    22 Detach
    23 Reported until
    24 FixOffered id title cause file line symbol
    25 FixAnswered id status sentence at compared
"""


def test_the_wire_is_what_this_version_of_the_protocol_says():
    kinds = [
        " ".join([str(number), kind.__name__, *(f.name for f in dataclasses.fields(kind))])
        for number, kind in enumerate(wire._KINDS)
    ]
    assert kinds == [line.strip() for line in PINNED.strip().splitlines()]
    assert wire.PROTOCOL == PROTOCOL_PINNED
    assert [f.name for f in dataclasses.fields(events.Reason)] == [
        *("argument", "cause", "before", "after", "before_class", "after_class", "before_dtype"),
        *("after_dtype", "batch_sizes"),
    ]
