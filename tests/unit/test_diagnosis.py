"""The detectors one by one: what they report, and where they stay silent.

The facts here are written by hand; the corpus has facts from real runs.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tfslowtop.agent.protocol.events import Reason, Trace
from tfslowtop.diagnosis.engine import diagnose
from tfslowtop.diagnosis.facts import (
    JUMPS,
    TRACED_RISE,
    Facts,
    FunctionFacts,
    GaugeFacts,
    RetraceReason,
    StreamFacts,
    TallyFacts,
    _at_traces,
    _in_jumps,
    gather,
)
from tfslowtop.diagnosis.finding import Finding
from tfslowtop.diagnosis.healthy import healthy
from tfslowtop.diagnosis.names import RETRACE_REASONS
from tfslowtop.state.account import AccountRow, AccountView
from tfslowtop.state.session import Session
from tfslowtop.stats.blocks import Stretch
from tfslowtop.stats.trend import Trend

FLAT = Trend("flat", 0.0, -1e-9, 1e-9, 0.02, 100, "")
RISING = Trend("rising", 1e-4, 0.5e-4, 2e-4, 0.02, 100, "")


def call(kind: str, calls: int, seconds: float, *, line: int = 10, step: bool = False, **more) -> StreamFacts:
    values = {
        "id": line,
        "name": kind,
        "kind": kind,
        "file": "/u/train.py",
        "line": line,
        "calls": calls,
        "seconds": seconds,
        "median": seconds / max(1, calls),
        "cpu": math.nan,
        "trend": FLAT,
        "is_step": step,
        "first_at": 1,
        "excess": 0.0,
    }
    return StreamFacts(**{**values, **more})


def count(
    what: str, count: int, *, symbol: str = "", line: int = 12, seconds: float = 0.0, **more
) -> TallyFacts:
    values = {
        "what": what,
        "symbol": symbol,
        "file": "/u/train.py",
        "line": line,
        "count": count,
        "seconds": seconds,
        "size": 0,
        "late": 0.5,
        "since": 1,
    }
    return TallyFacts(**{**values, **more})


def sighted(times: int, package: str, callee: str, module: str = "", **more) -> TallyFacts:
    """Return sightings of a line that calls a function of a package."""
    return count("where", times, package=package, symbol=callee, module=module, **more)


def traced(
    cause: str, times: int, seconds: float, *, calls: int = 100, late: int | None = None, **more
) -> FunctionFacts:
    values = {
        "function": "train_step",
        "file": "/u/train.py",
        "line": 5,
        "user_file": "/u/train.py",
        "user_line": 20,
        "count": times + 1,
        "nested": 0,
        "calls": calls,
        "seconds": seconds,
        "avoidable": times,
        "avoidable_seconds": seconds,
        "late": times // 2 if late is None else late,
        "since": 2,
        "longest": 0.1,
        "jit": False,
        "instances": 0,
        "called_with": "",
        "reasons": (RetraceReason("lr", cause, times, times, "float 0.1", "float 0.09"),),
    }
    return FunctionFacts(**{**values, **more})


def facts(*parts: object, seconds: float = 10.0, steps: int = 100, trend: Trend = FLAT, **more) -> Facts:
    step = call("loop", steps, 0.9 * seconds, line=19, step=True, trend=trend)
    calls = [p for p in parts if isinstance(p, StreamFacts)]
    return Facts(
        seconds=seconds,
        steps=steps,
        step=step,
        streams=(step, *calls),
        tallies=tuple(p for p in parts if isinstance(p, TallyFacts)),
        functions=tuple(p for p in parts if isinstance(p, FunctionFacts)),
        **{"training": True, **more},
    )


def first(*parts: object, **more) -> Finding:
    found = diagnose(facts(*parts, **more))
    assert found, "nothing was found"
    return found[0]


def rss(per_step: float, steps: int = 1000, rise: float = 5e7) -> dict[str, GaugeFacts]:
    trend = Trend("rising", per_step, 0.9 * per_step, 1.1 * per_step, 5e8, 100, "")
    return {"rss": GaugeFacts(5e8, 5e8 + per_step * steps, 5e8 + per_step * steps, trend, rise)}


@pytest.mark.parametrize("cause", RETRACE_REASONS[:-1])
def test_a_function_that_is_traced_again_and_again(cause):
    found = first(traced(cause, 90, 6.0))
    assert (found.cause, found.line, found.symbol) == (cause, 20, "train_step")
    assert "91 times in 100 calls" in found.sentence and found.fix.summary
    assert found.cost_seconds == 6.0 and found.share == pytest.approx(0.6)


def test_an_unknown_retrace_reason_is_counted_but_not_reported():
    """A recording made by a newer version may hold one."""
    session = Session()
    for number in range(40):
        at = number * 1_000_000_000
        known = Reason("x", "retrace-shape", "float32 (1,)", f"float32 ({number},)")
        unknown = Reason("y", "retrace-weather", "sunny", f"cloudy {number}")
        for name, line, reasons in (("new", 5, (unknown,)), ("both", 9, (unknown, known))):
            session.feed([Trace(name, "/u/a.py", line, number, at, 500_000_000, reasons, "/u/a.py", 20)])
    found = diagnose(replace(gather(session, 40_000_000_000), seconds=40.0))
    assert [(f.cause, f.symbol) for f in found] == [("retrace-shape", "both")]
    assert {f.function: f.avoidable for f in session.retraces.functions.values()} == {"new": 40, "both": 40}


def test_expectation_is_the_measured_time_minus_the_cost():
    step = first(traced("retrace-shape", 90, 6.0))
    assert step.expect == "A step takes about 30 ms on average instead of 90 ms."
    part = first(call("python-op", 100, 5.0))
    assert part.expect.startswith("A step") and part.basis == "measured"
    leak = first(gauges=rss(200_000.0), steps=1000)
    assert leak.expect == "Memory stops growing; it is at 700 MB now."
    slow = first(count("trace-ops", 400, seconds=5.0, size=4000))
    assert slow.expect == "The first call takes up to 5.0 s less; later calls take as long as before."


@pytest.mark.parametrize(
    "innocent",
    [
        traced("retrace-shape", 3, 3.0),  # train and eval, the last smaller batch of each
        traced("retrace-shape", 8, 3.0, calls=1000, late=0),  # buckets: all were seen early
        traced("retrace-python-value", 50, 0.1),  # costs next to nothing
        traced("retrace-shape", 40, 0.0, nested=41, avoidable=0),  # inside another function's trace
    ],
)
def test_healthy_traces_are_not_reported(innocent):
    assert diagnose(facts(innocent)) == ()


def test_many_expensive_traces_stay_reported_after_they_end():
    found = first(traced("retrace-structure", 60, 5.0, calls=130, late=0))
    assert (found.cause, found.share) == ("retrace-structure", pytest.approx(0.5))


def test_jit_compiles_again_for_new_shapes():
    assert first(traced("retrace-shape", 20, 3.0, jit=True)).cause == "xla-recompile"


def test_jit_under_an_open_signature_compiles_for_each_shape():
    shapes = count("xla-shape", 40, symbol="score", line=30, seconds=6.0)
    found = first(shapes, call("function", 100, 6.6, name="score", line=5))
    assert (found.cause, found.line) == ("xla-recompile", 30)
    assert "for 40 shapes in 100 calls" in found.sentence and "150 ms at a new shape, 10 ms" in found.sentence
    assert diagnose(facts(count("xla-shape", 4, symbol="score", line=30, seconds=2.0))) == ()
    early = count("xla-shape", 10, symbol="score", line=30, seconds=2.0, late=0.0)
    assert diagnose(facts(early, call("function", 100, 6.6, name="score", line=5))) == ()


def test_a_recreated_function_is_reported_where_it_is_created():
    found = first(traced("function-recreated", 99, 5.0), count("function", 100, symbol="train_step", line=14))
    assert (found.cause, found.line) == ("function-recreated", 14)


def test_library_functions_are_reported_at_the_line_that_uses_the_library():
    keras = "/env/lib/python3.11/site-packages/keras/src/backend/tensorflow/trainer.py"
    names = ("one_step_on_data", "one_step_on_iterator")
    made = [
        traced("function-recreated", 50, 2.0, function=name, file=keras, line=i, library=True)
        for i, name in enumerate(names)
    ]
    found = diagnose(facts(*made))
    assert [(f.cause, f.file, f.line) for f in found] == [("function-recreated", "/u/train.py", 20)]
    assert "This line uses a new Keras object each time" in found[0].sentence
    nobodys = [traced("function-recreated", 50, 2.0, file=keras, library=True, user_file="", user_line=0)]
    assert diagnose(facts(*nobodys)) == ()


def test_a_few_models_have_functions_of_their_own():
    own = traced("function-recreated", 8, 4.0, file="/x/site-packages/keras/a.py", library=True)
    assert first(own).cause == "function-recreated"
    assert diagnose(facts(own, count("compile", 4))) == ()
    more = traced("function-recreated", 12, 3.0, file=own.file, library=True)
    assert diagnose(facts(more, count("compile", 6))) == ()


def test_a_graph_that_grows_explains_the_memory_and_the_rise():
    gauges = {"graph ops": GaugeFacts(100, 900, 900, RISING), **rss(1e6)}
    found = diagnose(
        facts(
            call("session-run", 400, 8.0),
            count("graph-op", 3200, line=31),
            steps=400,
            trend=RISING,
            gauges=gauges,
        )
    )
    assert [f.cause for f in found] == ["graph-growth"]
    assert found[0].line == 31 and "grows by 8 ops per step and has 900 ops now" in found[0].sentence
    assert {s.cause for s in found[0].symptoms} >= {"python-leak"}


def test_no_step_takes_less_than_zero_seconds():
    """A line fitted to a bent curve starts below zero."""
    grown = count("graph-op", 4800, line=31)
    found = first(call("session-run", 600, 8.0), grown, steps=600, trend=RISING)
    assert found.cause == "graph-growth" and "steps went from 1 ms to 50 ms" in found.sentence


def test_a_saver_created_late_is_not_graph_growth():
    assert diagnose(facts(call("session-run", 100, 8.0), count("graph-op", 40, line=31, late=0.5))) == ()


@pytest.mark.parametrize(("still_open", "cause"), [(0, "session-per-step"), (95, "session-leak")])
def test_sessions_opened_at_every_step(still_open, cause):
    gauges = {"open sessions": GaugeFacts(0, still_open, still_open, None)}
    found = first(call("session-run", 100, 8.0), count("session", 100, line=29), gauges=gauges)
    assert (found.cause, found.line) == (cause, 29)


@pytest.mark.parametrize(("still_open", "grown", "causes"), [
    (12, 2e8, ["session-leak"]), (1, 2e8, ["python-leak"]), (12, 4e7, []),
])  # fmt: skip
def test_sessions_that_run_long_and_stay_open(still_open, grown, causes):
    gauges = {**rss(grown / 1000, rise=grown), "open sessions": GaugeFacts(0, still_open, still_open, None)}
    runs = call("session-run", 1000, 8.0)
    found = diagnose(facts(runs, count("session", 12, line=29), gauges=gauges, steps=1000))
    assert [f.cause for f in found] == causes
    if "session-leak" in causes:
        assert found[0].line == 29 and found[0].basis == "not measured"
        assert [s.cause for s in found[0].symptoms] == ["python-leak"]


@pytest.mark.parametrize(
    ("what", "cause"),
    [
        ("model", "model-recreated"),
        ("compile", "model-recreated"),
        ("load", "model-recreated"),
        ("optimizer", "optimizer-recreated"),
        ("variable", "variable-recreated"),
        ("dataset", "dataset-recreated"),
        ("iterator", "dataset-recreated"),
    ],
)
def test_what_is_built_again_at_every_step(what, cause):
    assert first(count(what, 100, line=15, seconds=4.0)).cause == cause


@pytest.mark.parametrize("what", ["model", "compile", "dataset", "iterator"])
def test_creating_a_few_objects_is_healthy(what):
    assert diagnose(facts(count(what, 5, seconds=4.0))) == ()


def test_clearing_the_session_after_each_model_counts_as_its_cost():
    pauses = {"gc pause seconds": GaugeFacts(0, 6, 6, None)}
    cleared = count("gc-pause", 100, symbol="clear_session", line=44, seconds=6.0)
    gc = call("gc", 100, 6.0, file="", line=0)
    found = first(count("model", 100, seconds=1.0, line=40), cleared, gc, gauges=pauses)
    assert (found.cause, found.line, [s.cause for s in found.symptoms]) == (
        "model-recreated",
        40,
        ["gc-pause"],
    )


def test_variables_created_in_few_long_steps():
    made = count("variable", 900, seconds=4.0)
    assert first(made, steps=10, seconds=12.0).cause == "variable-recreated"
    assert diagnose(facts(made, steps=6, seconds=12.0)) == (), "the first step may be most of it"
    assert diagnose(facts(replace(made, late=0.1), steps=10, seconds=12.0)) == (), "an optimizer's slots"


def test_map_fn_in_a_loss_that_fit_traces():
    used = count("map-fn", 1, symbol="map_fn", line=30)
    step = call("fit", 500, 9.0, line=60, step=True)
    trained = traced(
        "", 0, 1.0, file="/lib/site-packages/keras/trainer.py", library=True, reasons=(), count=2
    )
    (found,) = diagnose(replace(facts(used, trained), step=step, steps=500, streams=(step,)))
    assert (found.cause, found.line) == ("per-sample", 30) and "fit takes 18 ms" in found.sentence


def test_a_recreated_optimizer_explains_its_variables():
    found = diagnose(
        facts(count("optimizer", 100, seconds=1.0), count("variable", 1200, line=13, seconds=2.0))
    )
    assert [f.cause for f in found] == ["optimizer-recreated"]
    assert [s.cause for s in found[0].symptoms] == ["variable-recreated"]


def test_predict_on_small_and_on_large_inputs():
    assert first(call("predict", 100, 8.0, line=9)).cause == "predict-loop"
    assert diagnose(facts(call("predict", 10, 9.0, line=9))) == ()


def test_calling_fit_once_per_epoch_is_healthy():
    assert diagnose(facts(call("fit-call", 12, 2.0, line=9), call("fit", 480, 1.8, line=9))) == ()


def test_dispatch_of_eager_ops_differs_from_computing():
    gauges = {"eager ops per second": GaugeFacts(0, 5000, 5000, Trend("flat", 0, 0, 0, 5000.0, 50, ""))}
    found = first(count("eager-op-sample", 300, symbol="Mul", line=22), gauges=gauges)
    assert (found.cause, found.line) == ("eager-step", 22)
    few = {"eager ops per second": GaugeFacts(0, 100, 100, Trend("flat", 0, 0, 0, 100.0, 50, ""))}
    assert diagnose(facts(gauges=few)) == ()


def test_few_eager_ops_in_many_iterations():
    """A simulation in its time steps; not a training loop with few ops."""
    rate = {"eager ops per second": GaugeFacts(0, 5000, 5000, Trend("flat", 0, -1, 1, 5000, 100, ""))}
    ops = count("eager-op-sample", 500, symbol="Mul", line=22)
    around = call("loop", 60, 9.5, line=17)
    found = first(around, ops, steps=3600, gauges=rate, training=False)
    assert (found.cause, found.line) == ("eager-step", 22)
    assert "An iteration of the loop at line 17 runs 750 eager ops" in found.sentence
    assert diagnose(facts(around, ops, steps=3600, gauges=rate)) == ()
    assert diagnose(facts(ops, steps=3600, gauges=rate, training=False)) == ()


def test_eager_ops_that_copy_many_weights_are_reported_as_copies():
    rate = {"eager ops per second": GaugeFacts(0, 5000, 5000, Trend("flat", 0, 0, 0, 5000.0, 50, ""))}
    ops = count("eager-op-sample", 300, symbol="ReadVariableOp", line=31)
    there = sighted(
        60, "keras", "get_weights", "keras.src.layers.layer", function_line=67, seconds=7.0, line=31
    )
    much, little = (count("host-sync", 400, size=100 * size, line=31) for size in (6 << 20, 6 << 10))
    assert [f.cause for f in diagnose(facts(ops, there, much, gauges=rate))] == ["host-sync"]
    assert [f.cause for f in diagnose(facts(ops, there, little, gauges=rate))] == ["eager-step"]


def test_expensive_new_objects_are_reported_one_trace_earlier():
    assert first(traced("retrace-object", 4, 5.0)).cause == "retrace-object"
    assert diagnose(facts(traced("retrace-object", 4, 4.0))) == (), "a model for each of five folds"
    assert diagnose(facts(traced("retrace-shape", 4, 5.0))) == (), "four lengths, each met for the first time"


def test_objects_that_are_recreated_after_a_few_calls():
    planner = {"reasons": (), "avoidable": 0, "avoidable_seconds": 0.0, "count": 20, "calls": 300}
    found = first(traced("", 0, 6.0, **{**planner, "instances": 19}))
    assert (found.cause, found.line) == ("function-recreated", 20)
    assert diagnose(facts(traced("", 0, 6.0, **{**planner, "count": 7, "instances": 6}))) == (), (
        "a search of six models"
    )
    assert diagnose(facts(traced("", 0, 2.0, **{**planner, "instances": 19}))) == (), (
        "they do more than trace"
    )


def test_indexing_a_tensor_within_a_step():
    rate = {"eager ops per second": GaugeFacts(0, 20_000, 20_000, Trend("flat", 0, -1, 1, 20_000, 100, ""))}
    slices = [count("eager-op-sample", 300, symbol=name, line=31) for name in ("StridedSlice", "Greater")]
    found = first(*slices, steps=30, gauges=rate, training=False)
    assert (found.cause, found.line) == ("per-sample", 31) and "3,000 per step" in found.sentence
    few = diagnose(facts(*slices, steps=1000, gauges=rate, training=False))
    assert [f.cause for f in few] == ["eager-step"]


def test_calls_that_depend_on_the_previous_result_cannot_be_batched():
    act = call("function", 6400, 4.0, line=5)
    world = call("loop", 6400, 8.0, line=24)
    pulls = count("host-sync", 6400, line=28)
    works = traced("", 0, 0.0, user_line=26, count=1, calls=6400, reasons=())
    assert diagnose(facts(act, world, pulls, works)) == ()
    for changed in (
        (act, pulls, works),
        (act, world, works),
        (act, call("loop", 6400, 4.5, line=24), pulls, works),
    ):
        found = first(*changed)
        assert (found.cause, found.line) == ("per-sample", 26)


def test_a_save_inside_a_callback_is_reported_once():
    saves = count("save", 100, symbol="Model.save", line=19, seconds=4.5)
    (found,) = diagnose(facts(call("fit-call", 1, 9.0), count("callback", 100, line=18, seconds=5.0), saves))
    assert (found.cause, found.line) == ("callback-heavy", 18)


def test_a_shuffle_buffer_that_fills_at_each_epoch():
    waits = call("data-wait", 100, 6.0, line=19, median=0.001)
    made = count("dataset", 1, symbol="_ShuffleDataset", line=8)
    cut = count("dataset", 10, symbol="_TakeDataset", line=19, seconds=2.0)
    found = first(waits, made, cut)
    assert (found.cause, found.line) == ("input-bound", 8) and "shuffle buffer" in found.sentence
    assert first(call("data-wait", 100, 6.0, line=19), made).line == 19, "every element is waited for"


def test_items_that_do_not_depend_on_the_previous_result():
    items = count("one-item", 990, line=21)
    found = first(items, call("model-call", 1000, 6.0, line=21), steps=1000, training=False)
    assert (found.cause, found.line) == ("per-sample", 21) and "does not depend" in found.sentence


def test_weights_copied_through_the_host():
    there = sighted(
        60, "keras", "get_weights", "keras.src.layers.layer", function_line=67, seconds=4.0, line=31
    )
    back = sighted(
        40, "keras", "set_weights", "keras.src.layers.layer", function_line=67, seconds=3.0, line=33
    )
    pulls = count("host-sync", 800, line=31, size=800_000_000, seconds=0.1)
    found = first(there, back, pulls)
    assert (found.cause, found.line, found.cost_seconds) == ("host-sync", 31, 7.0)
    assert "8 MB per step" in found.sentence and found.expect.startswith("A step takes at best")
    busy = first(there, back, pulls, call("function", 100, 6.0, line=5))
    assert busy.cost_seconds == pytest.approx(facts().step.seconds - 6.0), "no more than functions leave"
    assert diagnose(facts(there, back, count("host-sync", 800, line=31, size=1000))) == (), "now and then"


def test_a_new_object_argument_is_reported_where_it_is_created():
    opt = RetraceReason("opt", "retrace-object", 90, 90, "an object that is gone", "Adam object 0x7f", "Adam")
    again = traced("retrace-object", 90, 6.0, reasons=(opt,))
    assert first(again, count("optimizer", 91, symbol="Adam", line=14)).line == 14
    assert first(again, count("optimizer", 2, symbol="Adam", line=14)).line == 20


def test_fitting_several_models_in_turn_is_not_growth():
    step = replace(call("fit", 1000, 9.0, line=19, step=True, trend=RISING), excess=4.0)
    for fits, ended, found in ((0, False, True), (1, True, True), (1, False, False), (3, True, False)):
        over = [call("fit-call", fits, 8.0, line=19)] if fits else []
        said = diagnose(replace(facts(*over), step=step, steps=1000, streams=(step, *over), ended=ended))
        assert [f.cause for f in said] == ["growing-input"] * found, (fits, ended)


def test_stages_are_not_growth():
    rng = np.random.default_rng(0)
    stages = np.repeat([0.01, 0.03, 0.09], 100) * rng.uniform(0.9, 1.1, 300)
    grows = np.linspace(0.01, 0.09, 300) * rng.uniform(0.8, 1.2, 300)
    assert _in_jumps(stages) > JUMPS > _in_jumps(grows)
    start, noise = np.arange(300) * 100, rng.uniform(0.5, 2.0, 300)  # as a busy machine makes it

    def at_traces(wall: np.ndarray, *anew: int) -> float:
        return _at_traces(Stretch(np.arange(300.0), start, wall, 0 * wall), list(anew))

    assert at_traces(stages * noise, 10_000, 20_000) > TRACED_RISE
    assert at_traces(stages * noise) == 0.0
    worse = stages * np.linspace(1.0, 1.5, 300) * noise  # and others take more and more of it
    assert at_traces(worse, 10_000, 20_000) > TRACED_RISE
    known = Stretch(np.arange(300.0), start, worse * np.linspace(1.0, 5.0, 300), stages)
    assert _at_traces(known, [10_000, 20_000]) > 0.9, "CPU time is the better witness"
    assert at_traces(grows * noise, 10_000, 20_000) < TRACED_RISE
    step = replace(call("loop", 300, 9.0, line=19, step=True, trend=RISING), excess=4.0)
    for staged, found in ((False, 1), (True, 0)):
        program = replace(facts(), step=replace(step, staged=staged), steps=300)
        assert [f.cause for f in diagnose(program)] == ["growing-input"] * found


def test_unexplained_growth_has_to_be_a_good_share_of_the_memory():
    assert diagnose(facts(steps=1000, gauges=rss(60_000))) == (), "60 MB of 560"
    found = first(steps=1000, gauges=rss(200_000))
    assert found.cause == "python-leak" and "no list, dict or set" in found.sentence


def test_a_session_run_only_for_summaries():
    summaries = count("summaries", 5, line=62)
    found = first(summaries, call("session-run", 100, 4.0, line=62), call("session-run", 100, 3.0, line=61))
    assert (found.cause, found.line) == ("callback-heavy", 62)
    assert diagnose(facts(summaries, call("session-run", 8, 4.0, line=62))) == (), "now and then"


def test_summaries_within_the_training_run():
    run = call("session-run", 100, 8.0, line=40, median=0.08)
    traced = [
        count("run-trace", 5, symbol=name, line=40, seconds=seconds)
        for name, seconds in (("summaries", 0.45), ("others", 0.15))
    ]
    found = first(run, *traced)
    assert (found.cause, found.line) == ("callback-heavy", 40)
    assert found.sentence == "Summaries take 60 ms of the 80 ms of a run at this line, as 5 traced runs show."
    assert diagnose(facts(run)) == (), "nothing was traced"
    rarely = count("run-trace", 45, symbol="without", line=40)
    assert diagnose(facts(run, *traced, rarely)) == (), "one run in ten has them"


def test_a_large_array_that_each_run_copies():
    run = call("session-run", 100, 8.0, line=40, median=0.08)
    fed = count("run-trace", 5, symbol="feeding", line=40, seconds=0.3, size=360_000_000)
    found = first(run, fed)
    assert (found.cause, found.line, found.cost_seconds) == ("host-copy", 40, pytest.approx(6.0))
    assert found.sentence.startswith("72 MB are copied into each run at this line: 60 ms of its 80 ms pass")
    assert diagnose(facts(run, replace(fed, seconds=0.08))) == (), "a batch"
    converted = count("host-copy", 100, symbol="feed_dict", line=40, seconds=5.0, size=7_200_000_000)
    assert [f.cost_seconds for f in diagnose(facts(run, fed, converted))] == [5.0], "reported once"


def test_a_new_object_for_each_step():
    anew = traced("new-instance", 25, 4.0, calls=104, avoidable=0, instances=25, reasons=())
    found = first(anew, steps=26)
    assert found.cause == "function-recreated" and "a new object in 25 of 104 calls" in found.sentence
    assert diagnose(facts(anew, steps=1000)) == (), "a search that does a lot with each"


def test_eager_ops_are_reported_at_the_line_of_the_loop_that_calls_them():
    rate = {"eager ops per second": GaugeFacts(1e4, 1e4, 1e4, Trend("flat", 0.0, 0.0, 0.0, 1e4, 9, ""))}
    ops = count("eager-op-sample", 100, symbol="Mul", line=90)
    place = {"symbol": "loop", "line": 21}  # the step is the loop at line 19
    assert first(ops, count("eager-op-turn", 80, **place), gauges=rate).line == 21
    assert first(ops, count("eager-op-turn", 40, **place), gauges=rate).line == 90, "one of several"
    assert first(ops, count("eager-op-turn", 80, symbol="other", line=30), gauges=rate).line == 90


def test_variables_that_are_read_at_each_step():
    """Reading the variable takes the time, not the copy; only sightings of the line show that."""
    pulled = count("host-sync", 2800, line=50, seconds=0.2, size=6_600_000_000)
    reads = sighted(
        57, "tensorflow", "numpy", "resource_variable_ops", function_line=47, line=50, seconds=4.0
    )
    found = first(pulled, reads)
    assert (found.cause, found.line, found.cost_seconds) == ("host-sync", 50, 4.0)
    assert diagnose(facts(pulled, replace(reads, package="user", symbol="", module=""))) == (), (
        "it does something else there"
    )


def test_run_functions_eagerly():
    rate = {"eager ops per second": GaugeFacts(1e4, 1e4, 1e4, Trend("flat", 0.0, 0.0, 0.0, 1e4, 9, ""))}
    ops, function = count("eager-op-sample", 100, symbol="Mul", line=90), call("function", 100, 8.8)
    assert diagnose(facts(ops, function, gauges=rate)) == (), "it is the function that takes the time"
    found = first(ops, function, gauges={**rate, "functions run eagerly": GaugeFacts(1, 1, 1, None)})
    assert found.cause == "eager-step" and "run_functions_eagerly" in found.fix.summary
    switch = count("setting", 1, symbol="run_functions_eagerly", line=3, file="/u/setup.py", size=1)
    gauges = {**rate, "functions run eagerly": GaugeFacts(1, 1, 1, None)}
    found = first(ops, function, switch, gauges=gauges)
    assert (found.file, found.line) == ("/u/setup.py", 3) and "train.py:90" in found.sentence
    off = first(ops, function, replace(switch, size=0), gauges=gauges)
    assert off.file == "/u/train.py", "that line has switched it off"


def test_calls_that_compute_next_to_nothing():
    calls = call("function", 9000, 8.0, line=5, name="update")
    work = count("graph-work", 20, symbol="update", line=5, size=2_000)
    found = first(calls, work, steps=9000)
    assert found.cause == "dispatch-bound" and found.basis == "at most"
    assert diagnose(facts(calls, replace(work, size=400_000), steps=9000)) == (), "it computes"
    reads = count("host-sync", 9000, line=30)
    assert diagnose(facts(calls, work, reads, steps=9000)) == (), "an agent acts one by one"
    assert diagnose(facts(call("function", 90, 8.0, line=5, name="update"), work)) == (), "few calls"


def test_evaluation_beside_training():
    loop = count("evaluates", 4000, symbol="run", line=40, seconds=6.0, size=30, inside="data-wait")
    found = first(loop, training=True)
    assert (found.cause, found.line) == ("validation-heavy", 40) and "30 rounds" in found.sentence
    assert diagnose(facts(loop, training=False)) == (), "nothing is trained"
    assert diagnose(facts(replace(loop, size=1), training=True)) == (), "once, at the end"
    rollout = replace(loop, inside="")
    assert diagnose(facts(rollout, training=True)) == (), "an agent in its environment"
    assert first(replace(rollout, symbol="evaluate"), training=True).cause == "validation-heavy"
    evaluate = call("evaluate", 5, 6.0, line=9)
    assert first(evaluate, call("fit-call", 1, 9.5, line=9), training=True).cause == "validation-heavy"


def test_double_precision_by_accident_and_on_purpose(tmp_path):
    accident, purpose = tmp_path / "a.py", tmp_path / "p.py"
    accident.write_text("x = rng.normal(size=9)\n")
    purpose.write_text("x = tf.cast(y, tf.float64)\n")
    calls = call("function", 100, 8.0, line=5, name="step")
    entry = count("wide", 1, symbol="argument", line=20, module="/u/train.py", function_line=5, size=9)
    for file, causes in ((accident, ["wide-dtype"]), (purpose, [])):
        made = count("wide-variable", 1, line=1, file=str(file), size=9)
        found = diagnose(facts(calls, entry, made))
        assert [f.cause for f in found] == causes
        assert [(f.file, f.line) for f in found] == [(str(file), 1) for _ in causes]


def test_tables_that_are_updated_as_a_whole():
    calls = call("function", 100, 8.0, line=5, name="step")
    table = count("dense-rows", 9, symbol="300,000 × 32", module="/u/train.py", function_line=5, size=75)
    found = first(calls, table)
    assert (found.cause, found.cost_seconds) == ("sparse-to-dense", 6.0)
    assert diagnose(facts(calls, replace(table, count=1))) == (), "one op may be a penalty"


def test_a_loop_before_the_first_step(tmp_path):
    script = tmp_path / "load.py"
    script.write_text("for line in lines:\n    rows.append(parse(line))\nx = np.load(path)\n")
    seen = sighted(100, "user", "", line=2, file=str(script), seconds=12.0, before=12.0, late=0.0)
    found = first(seen, before=15.0, elapsed=26.0)
    assert (found.cause, found.line) == ("slow-start", 2)
    assert found.share == pytest.approx(12 / 26), "of the whole run, the start included"
    loads = replace(seen, line=3)
    assert diagnose(facts(loads, before=15.0, elapsed=26.0)) == (), (
        "reading a file once is what a start is for"
    )
    assert diagnose(facts(seen, before=15.0, elapsed=900.0)) == (), "a long run"


def test_fewer_threads_than_cores():
    limit = count("thread-limit", 8, line=2, size=2)
    rows = (AccountRow("graph", "/u/train.py", 20, 9.0, 0.9, 100, math.nan),)
    account = AccountView(10.0, 100, (("graph", 0.9),), rows)
    found = first(limit, account=account)
    assert (found.cause, found.line, found.cost_seconds) == ("thread-limits", 2, pytest.approx(6.75))
    short = replace(account, rows=(replace(rows[0], calls=90_000),))
    assert diagnose(facts(limit, account=short)) == (), "calls this short are not divided among threads"


def test_leaked_kernels_explain_slower_steps():
    step = replace(call("loop", 4000, 9.0, line=19, step=True, trend=RISING), excess=4.0)
    draws = count("seeded-draw", 4000, line=35)
    program = replace(facts(draws, gauges=rss(37_000, 4000), steps=4000), step=step, streams=(step,))
    found = diagnose(program)
    assert [f.cause for f in found] == ["kernel-leak"]
    assert [s.cause for s in found[0].symptoms] == ["growing-input"]


def test_rows_of_an_array_one_by_one():
    rows = count("one-row", 990, line=21)
    found = first(rows, call("model-call", 1000, 6.0, line=21), steps=1000, training=False)
    assert (found.cause, found.line) == ("per-sample", 21)
    big = call("model-call", 100, 6.0, line=21)
    assert diagnose(facts(count("one-row", 99, line=21), big, training=False)) == ()


HOST = {
    ("user", "", ""): "input-bound",
    ("pandas", "apply", "pandas.core.frame"): "input-bound",
    ("json", "loads", "json"): "input-bound",
    ("threading", "get", "queue"): "input-bound",
    ("json", "dump", "json"): "callback-heavy",
    ("threading", "flush", "tensorflow.python.summary.writer.writer"): "callback-heavy",
    ("logging", "info", "logging"): "callback-heavy",
    ("user", "write", "file"): "callback-heavy",
}


@pytest.mark.parametrize("running", HOST)
def test_python_work_outside_tensorflow(running):
    package, callee, module = running
    seen = sighted(60, package, callee, module, seconds=6.0, line=33)
    found = first(seen, call("function", 100, 2.0))
    assert (found.cause, found.line) == (HOST[running], 33)
    assert "of the 90 ms of a step" in found.sentence or "60 ms of its 90 ms" in found.sentence


@pytest.mark.parametrize(
    ("package", "callee", "module"),
    [("tensorflow", "_call", "tensorflow"), ("keras", "fit", "keras"), ("tracing", "_call", "tensorflow")],
)
def test_time_inside_tensorflow_is_not_python_work(package, callee, module):
    seen = sighted(60, package, callee, module, seconds=6.0, line=33)
    assert diagnose(facts(seen)) == ()


def test_an_uncached_map_in_fit():
    """Waits are means over a second; a shuffle buffer makes some batches many times as long as others."""
    step = call("fit", 112, 7.6, line=73, step=True, median=0.013)
    waits = call("data-wait", 33, 1.8, line=73)
    made = count("dataset", 2, symbol="_ParallelMapDataset", line=40)
    kept = count("dataset", 2, symbol="CacheDataset", line=41)

    def places(*counts: TallyFacts, waits: StreamFacts = waits) -> list[tuple[int, object]]:
        program = replace(facts(*counts, steps=112), step=step, streams=(step, waits), training=True)
        return [(f.line, f.evidence["waits_for"]) for f in diagnose(program)]

    assert places(made) == [(40, "repeated work")]
    assert places(made, kept) == [(73, "pipeline")]
    assert places(made, waits=replace(waits, calls=15)) == [], "too few were read"


def test_a_service_may_wait_for_requests():
    wait = sighted(60, "threading", "get", "queue", seconds=6.0, line=33)
    assert diagnose(facts(wait, training=False)) == ()


def test_the_environment_of_an_agent_is_real_work():
    world = count("where", 60, package="user", seconds=6.0, line=33)
    assert diagnose(facts(world, call("function", 100, 1.0), call("function", 100, 1.0, line=11))) == ()
    assert diagnose(facts(world, training=False)) == ()
    little = count("where", 30, package="user", seconds=3.0, line=33)
    assert diagnose(facts(little, call("function", 100, 2.0))) == ()
    draws = count("where", 30, package="user", seconds=6.0, line=33)
    assert diagnose(facts(draws, call("function", 5000, 2.0), steps=5000)) == ()


def test_python_in_the_step_and_in_the_pipeline():
    assert first(call("python-op", 100, 6.0, line=3)).cause == "python-op"
    waiting = [call("data-wait", 100, 6.0, line=19), call("data-python-op", 3000, 6.0, line=3)]
    found = first(*waiting)
    assert (found.cause, found.line) == ("input-bound", 3)
    assert diagnose(facts(call("data-wait", 100, 0.5), call("data-python-op", 3000, 6.0))) == ()


def test_a_generator_never_seen_running_is_reported_at_its_dataset():
    library = "/env/lib/python3.11/site-packages/tensorflow/python/data/ops/from_generator_op.py"
    python = call("data-library-python-op", 3000, 6.0, name="generator_py_func", file=library, library=True)
    made = count("dataset", 1, symbol="_FlatMapDataset", line=13)
    assert first(call("data-wait", 100, 6.0, line=19), python, made).line == 13
    seen = count("where-called-back", 1, symbol="rows", line=5)
    assert first(call("data-wait", 100, 6.0, line=19), python, made, seen).line == 5


def test_a_callback_that_takes_the_time():
    found = first(
        call("fit-call", 1, 9.0), count("callback", 100, symbol="Log.on_train_batch_end", seconds=5.0)
    )
    assert found.cause == "callback-heavy" and "Log.on_train_batch_end" in found.sentence
    meanwhile = first(
        call("fit", 100, 9.0), count("callback", 100, symbol="Log.on_train_batch_end", seconds=5.0)
    )
    assert meanwhile.cause == "callback-heavy"


def test_copies_count_when_they_are_large():
    assert first(count("host-copy", 100, seconds=3.0, size=900_000_000)).cause == "host-copy"
    assert diagnose(facts(count("host-copy", 100, seconds=3.0, size=90_000))) == ()
    assert diagnose(facts(count("host-sync", 100, seconds=3.0, size=400))) == ()  # looking at a loss
    fed = count("host-copy", 100, symbol="feed_dict", seconds=2.0)
    assert "Python lists are fed" in first(fed).sentence
    small = count("host-copy", 100, symbol="feed_dict", seconds=2.0, size=100 * 5000)
    assert diagnose(facts(small)) == ()


def test_predict_that_computes_is_healthy():
    keras = "/env/lib/python3.11/site-packages/keras/src/backend/tensorflow/trainer.py"
    inside = call("library-function", 100, 6.0, line=9, file=keras, library=True)
    assert diagnose(facts(call("predict", 100, 8.0, line=9), inside)) == ()


def test_a_leak_explains_the_collector_pauses():
    kept = count("kept-object", 500, symbol="log", container="dict", line=34, size=50_000_000)
    gauges = {"gc pause seconds": GaugeFacts(0, 3, 3, None), **rss(1e5)}
    found = diagnose(facts(call("gc", 100, 3.0, file="", line=0), kept, steps=1000, gauges=gauges))
    assert [f.cause for f in found] == ["python-leak"]
    assert [s.cause for s in found[0].symptoms] == ["gc-pause"]


def test_leaks_and_their_holders():
    grown = count("kept-tensor", 1300, symbol="history", container="list", line=33, size=80_000_000)
    numbers = count("kept-object", 2000, symbol="losses", container="list", line=35, size=60_000)
    found = first(grown, numbers, steps=1000, gauges=rss(1e5))
    assert (found.cause, found.line, found.symbol) == ("tensor-leak", 33, "history")
    assert (
        found.basis == "not measured"
        and "the list `history` has gained 1,300 entries with tensors" in found.sentence
    )
    found = first(
        count("kept-object", 500, symbol="log", container="dict", line=34, size=50_000_000),
        steps=1000,
        gauges=rss(1e5),
    )
    assert (found.cause, found.line) == ("python-leak", 34)
    found = first(numbers, steps=1000, gauges=rss(1e5))
    assert (found.cause, found.line, found.confidence) == ("python-leak", 19, "medium")
    assert diagnose(facts(numbers, steps=1000, gauges=rss(5e3))) == ()
    assert diagnose(facts(numbers, steps=1000, gauges=rss(1e5, rise=1e6))) == (), "it goes up and down"
    bounded = count(
        "kept-object", 500, symbol="buffer", container="deque(1000)", bounded=True, line=34, size=50_000_000
    )
    assert diagnose(facts(bounded, steps=1000, gauges=rss(1e5))) == ()


def test_a_leak_ranks_by_its_share_of_the_memory():
    grown = count("kept-tensor", 1300, symbol="history", container="list", line=33, size=80_000_000)
    copy = count("host-copy", 1000, line=40, seconds=2.0, size=10**10)
    found = diagnose(facts(grown, copy, steps=1000, gauges=rss(1e5)))
    assert [f.cause for f in found] == ["host-copy", "tensor-leak"]
    grown = count("kept-tensor", 1300, symbol="history", container="list", line=33, size=800_000_000)
    found = diagnose(facts(grown, copy, steps=1000, gauges=rss(1e6)))
    assert [f.cause for f in found] == ["tensor-leak", "host-copy"]


def test_collector_pauses():
    pauses = {"gc pause seconds": GaugeFacts(0, 3, 3, None)}
    assert first(call("gc", 100, 3.0, file="", line=0), gauges=pauses).cause == "gc-pause"
    assert diagnose(facts(call("gc", 100, 0.3, file="", line=0), gauges=pauses)) == ()
    asked = count("gc-pause", 100, symbol="clear_session", line=44, seconds=2.9)
    found = first(call("gc", 100, 3.0, file="", line=0), asked, gauges=pauses)
    assert (found.line, "Take clear_session out of the loop" in found.fix.summary) == (44, True)
    by_itself = [count("gc-pause", 10, line=40 + i, seconds=0.3) for i in range(10)]
    assert first(call("gc", 100, 3.0, file="", line=0), *by_itself, gauges=pauses).line == 19


def test_a_rise_that_nothing_else_explains():
    slow = call("loop", 100, 9.0, line=19, step=True, trend=RISING, excess=5.0)
    base = facts(count("where", 50, package="user", line=23, seconds=5.0))
    found = diagnose(
        Facts(**{**{n: getattr(base, n) for n in base.__slots__}, "step": slow, "streams": (slow,)})
    )
    assert (found[0].cause, found[0].line) == ("growing-input", 23)
    calm = {n: getattr(base, n) for n in base.__slots__} | {
        "step": slow,
        "streams": (slow,),
        "training": False,
    }
    assert diagnose(Facts(**{**calm, "cpu_paces": (0.01, 0.02, 0.02, 0.03, 0.02, 0.02)})) == ()


def test_cpu_time_decides_where_wall_time_is_disturbed():
    unclear = Trend("unclear", 1e-6, -1e-6, 2e-6, 0.02, 100, "")
    scan = count("where", 50, package="user", function_line=20, line=23, seconds=5.0, growth=2.0)
    run = sighted(50, "tensorflow", "_call", "tensorflow", line=24, seconds=4.0, growth=0.5)
    paces = (0.004, 0.006, 0.009, 0.008, 0.011, 0.013)
    given = {"steps": 1000, "trend": unclear, "training": False}
    found = first(scan, run, cpu_paces=paces, **given)
    assert (found.cause, found.line) == ("growing-input", 23)
    assert "Steps went from 4 ms to 13 ms over 1,000 steps" in found.sentence
    assert diagnose(facts(scan, run, cpu_paces=(0.001,) * 6, **given)) == ()
    larger = sighted(50, "tensorflow", "_call", "tensorflow", line=24, seconds=9.0, growth=8.0)
    assert diagnose(facts(scan, larger, cpu_paces=paces, **given)) == ()


def test_a_healthy_program_gets_one_sentence():
    calm = facts(
        sighted(80, "tensorflow", "_call", seconds=9.6),
        count("where", 4, package="user", seconds=0.4),
    )
    assert diagnose(calm) == ()
    assert healthy(calm) == "Nothing wrong found: the step is steady at 90 ms, 96 % inside TensorFlow."
    busy = facts(
        sighted(30, "tensorflow", "_call", seconds=3.0),
        count("where", 50, package="user", function_line=40, line=44, seconds=5.0),
        training=False,
    )
    assert healthy(busy) == (
        "Nothing wrong found: the step is steady at 90 ms, 38 % inside TensorFlow and 62 % at train.py:44."
    )
    failed = "Nothing slow found until then: the step is steady at 90 ms, 96 % inside TensorFlow."
    assert healthy(replace(calm, failed=True)) == failed


def test_nothing_is_found_without_facts():
    assert diagnose(Facts(0.0, 0, None, "", (), (), ())) == ()


def alone(*parts: TallyFacts, memory: float = 4e8) -> Facts:
    """Facts of a program without TensorFlow that ran for twenty seconds."""
    level = GaugeFacts(3e7, memory, memory, None)
    return Facts(20.0, 0, None, "", (), parts, (), gauges={"rss": level}, alone=True)


def test_an_array_that_is_copied_to_a_longer_one():
    joins = sighted(120, "numpy", "join", "numpy", function_line=8, array="self.rows", line=12, seconds=12.0)
    grown = count("grown-array", 4000, symbol="model.rows", line=0, size=32_000_000)
    (found,) = diagnose(alone(joins, grown))
    assert (found.cause, found.line) == ("growing-input", 12)
    assert found.sentence == (
        "This line copies all of model.rows to a longer array, again and again: 12.0 s, 60 % of the time. "
        "The array has gained 4,000 rows and takes 32 MB."
    )
    assert diagnose(alone(joins)) == (), "a window that does not grow"
    assert diagnose(alone(joins, replace(grown, late=0.1))) == (), "it has been made, and is worked on"
    assert diagnose(alone(replace(joins, seconds=3.0), grown)) == (), "it costs little"
    assert diagnose(replace(alone(joins, grown), seconds=4.0)) == (), "too early to say"
    assert diagnose(replace(alone(joins, grown), alone=False)) == (), "TensorFlow is on its way"


def test_a_function_that_numpy_calls_for_each_item():
    each = sighted(120, "numpy", "_vectorize_call", "numpy", line=7, seconds=12.0)
    (found,) = diagnose(alone(each))
    assert (found.cause, found.line) == ("python-op", 7) and "60 %" in found.sentence
    assert diagnose(alone(replace(each, seconds=4.0))) == ()


def test_a_list_that_grows_in_a_numpy_program():
    kept = count("kept-object", 900, symbol="sim.trace", container="list", line=8, size=300_000_000)
    (found,) = diagnose(alone(kept))
    assert (found.cause, found.line, found.basis) == ("python-leak", 8, "not measured")
    assert "keeps 300 MB of the 400 MB in memory" in found.sentence
    assert diagnose(alone(replace(kept, size=150_000_000), memory=2e8)) == (), "a list may keep something"
    assert diagnose(alone(kept, memory=2e9)) == (), "most of the memory is elsewhere"
    assert diagnose(alone(replace(kept, late=0.1))) == (), "it was filled at the start"
    assert diagnose(alone(replace(kept, symbol="sim.trace", container="deque(1000)", bounded=True))) == ()


def test_a_healthy_numpy_program_names_its_busiest_lines():
    lines = [count("where", 10, package="user", line=n, seconds=n) for n in (1, 7, 12)]
    assert (
        healthy(alone(*lines))
        == "Nothing wrong found; most of the time is spent at train.py:12 (60 %), train.py:7 (35 %)."
    )
    assert healthy(replace(alone(*lines), seconds=2.0)) == ""


def test_a_callback_that_evaluates():
    callback = count("callback", 12, symbol="Scores.on_epoch_end", line=10, seconds=6.5)
    predict, fit = call("predict", 4, 6.0, line=11), call("fit-call", 1, 9.5, line=30)
    found = diagnose(facts(callback, predict, fit))
    assert [(f.cause, f.line) for f in found] == [("validation-heavy", 11)]
    assert first(callback, fit).cause == "callback-heavy"
