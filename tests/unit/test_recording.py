"""Recordings: what is written comes back, old ones stay readable, and all can be watched like a live run."""

from __future__ import annotations

import gzip
import json
import typing
from pathlib import Path

import pytest
from paths import CORPUS, RECORDINGS
from recording import MANY, SUFFIX, save

from tfslowtop.agent.protocol import events
from tfslowtop.agent.protocol.events import (
    SAMPLE,
    Ended,
    Folded,
    Gauge,
    Phase,
    Reason,
    Samples,
    StepChosen,
    Stream,
    Trace,
)
from tfslowtop.lens import Lens
from tfslowtop.run import Run
from tfslowtop.sources.recording import Record, RecordingSource, read_recording, write_recording
from tfslowtop.sources.source import SourceError
from tfslowtop.state.readings import KnownGpus, Sensed
from tfslowtop.state.session import Session
from tfslowtop.state.view import Gpu, View

BEGIN = 5_000_000_000
HEADER = {"format": "tfslowtop recording", "version": 1}
SAMPLED = {"stream": 1, "first": 0, "start_after": [1], "wall": [1], "cpu": [1]}
REASON = Reason("x", "retrace-shape", "(1,)", "(2,)")
FEW = b"".join(SAMPLE.pack(BEGIN + i * 1000, 7000, 3000) for i in range(3))
EVERYTHING: list[events.Event | Sensed | KnownGpus] = [
    events.Hello(3, "token", 42, "3.12.1"),
    events.About("2.20.0", ("CPU:0",), ("CUDA_VISIBLE_DEVICES=0",)),
    Phase("running", "", BEGIN),
    Stream(1, "f", "function", "/corpus/a.py", 3),
    Samples(1, 0, FEW),
    Folded(1, 3, 100, BEGIN + 3000, BEGIN + 9000, 1, 9, 500, 400, (1, 5, 9)),
    Trace("f", "", 0, 2, BEGIN + 1000, 4321, (REASON,), nested=True),
    Gauge("rss", BEGIN + 5000, 1.5e9),
    events.Reported(BEGIN + 2000),
    events.Tally("model", "Adam", "a.py", 3, 4, 5, 6, BEGIN + 2000),
    StepChosen(1, "the loop that does the work", BEGIN),
    events.Toggled(0, ("a", "b"), BEGIN),
    events.FixOffered("a", "pass n as a tensor", "retrace-python-value", "train.py", 3, "step"),
    events.FixAnswered("a", "on", "Same results.", BEGIN, True),
    events.Block(7, -1, (), BEGIN),
    events.Failed(3, "a.py", 4, "no", "Traceback"),
    events.Lost(1, 10),
    events.Note("a note"),
    events.Output("größer\n"),
    Sensed((Gauge("rss", BEGIN + 6000, 2e9), Gauge("host.cpu", BEGIN + 6000, 40.0))),
    KnownGpus((Gpu("0", "T4", 0, True), Gpu("1")), ""),
    Ended(1, "It ended.", BEGIN + 9000),
]


def written(path: Path, *lines: object) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return path


def records(*said: events.Event | Sensed | KnownGpus) -> list[Record]:
    return [Record(BEGIN + 1000 * i, event) for i, event in enumerate(said)]


def test_every_event_and_reading_comes_back_as_it_was(tmp_path):
    assert {type(e) for e in EVERYTHING} == {*typing.get_args(events.Event), Sensed, KnownGpus}
    write_recording(tmp_path / "a", records(*EVERYTHING), python="3.12")
    back = read_recording(tmp_path / "a", BEGIN)
    assert list(back.records) == records(*EVERYTHING)
    assert back.facts == {"python": "3.12"}


def test_times_are_moved_to_where_it_is_said_to_begin(tmp_path):
    write_recording(tmp_path / "a", records(Phase("running", "", BEGIN), Samples(1, 0, FEW)))
    phase, samples = read_recording(tmp_path / "a", 70_000).records
    assert phase == Record(70_000, Phase("running", "", 70_000))
    assert SAMPLE.unpack_from(typing.cast(Samples, samples.event).packed) == (70_000, 7000, 3000)


def test_a_recording_from_before_a_field_was_added_takes_its_default(tmp_path):
    trace = {"function": "f", "file": "a.py", "line": 1, "number": 2, "at": 5, "wall": 7, "reasons": []}
    path = written(tmp_path / "a", HEADER, {"came": 9, "kind": "Trace", "event": trace})
    (record,) = read_recording(path).records
    assert record == Record(9000, Trace("f", "a.py", 1, 2, 5000, 7, ()))


def test_kinds_and_fields_of_a_later_version_are_skipped(tmp_path):
    path = written(
        tmp_path / "a",
        HEADER,
        {"came": 1, "kind": "NotYetThought", "event": {"of": 1}},
        {"came": 2, "kind": "Note", "event": {"text": "hi", "colour": "red"}, "more": 1},
    )
    assert read_recording(path).records == (Record(2000, events.Note("hi")),)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([], "empty"),
        ([{"format": "other"}], "not a recording"),
        ([[1]], "not a recording"),
        ([{**HEADER, "version": 2}], "newer"),
        ([HEADER, {"came": 1, "kind": "Note"}], "line 2"),
        ([HEADER, {"came": 1, "kind": "Note", "event": {}}], "lacks text"),
        ([HEADER, {"came": "x", "kind": "Note", "event": {"text": ""}}], "expected int"),
        ([HEADER, {"came": 1, "kind": "Note", "event": {"text": 3}}], "expected str"),
        ([HEADER, [1, 2]], "line 2"),
        ([HEADER, {"came": 1, "kind": "Toggled", "event": {"iteration": 1, "fixes": "a", "at": 1}}], "list"),
        ([HEADER, {"came": 1, "kind": "Samples", "event": {**SAMPLED, "wall": ["x"]}}], "line 2"),
        ([HEADER, {"came": 1, "kind": "Samples", "event": {**SAMPLED, "wall": [1, 2]}}], "line 2"),
    ],
)  # fmt: skip
def test_what_is_no_recording_is_refused_in_one_sentence(tmp_path, lines, says):
    with pytest.raises(SourceError, match=says) as refused:
        read_recording(written(tmp_path / "a", *lines))
    assert "\n" not in str(refused.value)


def test_files_that_are_cut_short_or_not_compressed_or_missing_are_refused(tmp_path):
    whole = written(tmp_path / "a", HEADER, {"came": 1, "kind": "Note", "event": {"text": "x" * 999}})
    (tmp_path / "cut").write_bytes(whole.read_bytes()[:-20])
    (tmp_path / "plain").write_text("{}")
    for file, says in (("cut", "damaged"), ("plain", "not gzip"), ("nowhere", "No such file")):
        with pytest.raises(SourceError, match=says):
            read_recording(tmp_path / file)


def test_recordings_of_the_corpus_are_folded_and_name_no_path_of_this_machine(tmp_path):
    said = records(Stream(1, "f", "function", f"{CORPUS}/a.py", 3), Samples(1, 3, FEW * MANY))
    save(tmp_path / f"a{SUFFIX}", said, "an error")
    back = read_recording(tmp_path / f"a{SUFFIX}", BEGIN)
    stream, many = (r.event for r in back.records)
    assert back.facts["error"] == "an error" and back.facts["script"] == "a.py"
    assert stream == Stream(1, "f", "function", "/corpus/a.py", 3)
    assert isinstance(many, Folded) and (many.count, many.wall_sum) == (3 * MANY, 3 * MANY * 7000)


def test_a_recording_can_be_watched_like_anything_else():
    views: list[View] = []
    run = Run(RecordingSource(RECORDINGS / f"linear_schedule{SUFFIX}", at_once=True), Lens(), views.append)
    run.pump()
    assert views[-1].ended is not None and views[-1].ended.how == "The recording ends here."
    assert views[-1].findings[0].cause == "retrace-python-value"


def test_what_the_sensors_read_reaches_the_screen_from_a_recording_too(tmp_path):
    write_recording(tmp_path / "a", records(*EVERYTHING))
    views: list[View] = []
    Run(RecordingSource(tmp_path / "a", at_once=True), Lens(), views.append).pump()
    last = views[-1]
    assert last.readings == {"rss": 2e9, "host.cpu": 40.0}
    assert [gpu.label for gpu in last.gpus] == ["0", "1"]
    assert last.ended is not None and last.ended.code == 1


def test_a_recording_is_played_at_its_own_pace_until_it_is_stopped(tmp_path):
    hour = 3600 * 10**9
    write_recording(
        tmp_path / "a", [Record(0, Phase("running", "", 0)), Record(hour, Phase("done", "", hour))]
    )
    source = RecordingSource(tmp_path / "a")
    source.start()
    assert [type(e) for e in source.events(0.0)] == [Phase] and source.events(0.0) == []
    source.stop()
    assert [type(e) for e in source.events(0.0)] == [Phase, Ended]
    assert source.events(0.0) == []


def test_a_session_takes_readings_as_it_takes_events():
    fed, sensed = Session(), Session()
    gauges = (Gauge("rss", BEGIN, 1e9), Gauge("host.cpu", BEGIN, 3.0))
    fed.feed([Sensed(gauges)])
    sensed.sense(gauges)
    assert fed.readings == sensed.readings
