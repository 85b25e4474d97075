"""Finding steps: the loops in bytecode, the iterations of a loop, and the choice among them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import ANY

import paths
import pytest

from tfslowtop.agent.attachment import Attachment
from tfslowtop.agent.code.ownership import Ownership
from tfslowtop.agent.protocol.channel import MemoryChannel
from tfslowtop.agent.protocol.events import ChooseStep, Note, StepChosen
from tfslowtop.agent.steps.control_flow import analyse
from tfslowtop.agent.steps.streams import CALL, COMMIT, DATA, GRADIENT, HOST, TAPE, Stream
from tfslowtop.agent.steps.tracker import RESULT_READ, Tracker

LOOPS = sorted(paths.LOOPS.glob("*.py"))


def lines_of(function, *names):
    """Loops as (line from the def, is a for)."""
    first = function.__code__.co_firstlineno
    return sorted((loop.line - first, loop.is_for) for loop in analyse(function.__code__).loops)


def test_the_loops_of_a_function_are_found_wherever_python_puts_their_blocks():
    def f(data, call, it):
        for _ in range(3):
            for x in data:
                if x:
                    continue
                call(x)
            try:
                y = next(it)
            except StopIteration:
                y = next(iter(data))
            call(y)
        while y < 10:
            if call(2):
                continue
            if call(4):
                break
            y += 1
        while True:
            with call as g:
                call(5)
            if g:
                return

    assert lines_of(f) == [(1, True), (2, True), (11, False), (17, False)]


class Recorder:
    """A hooked call: tells the tracker, and does nothing."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.tracker = Tracker(Ownership(""), self.errors.append)

    def __call__(self, bits: int = CALL, what: int = 0, giver: int = 0) -> bool:
        iteration = self.tracker.enter(sys._getframe(), time.perf_counter_ns(), what, giver)
        if iteration is not None:
            iteration.bits |= bits
            iteration.end = time.perf_counter_ns()
            iteration.what = what
        return True

    def counts(self, code) -> dict[int, int]:
        assert not self.errors
        self.tracker.close_ended()
        first = code.co_firstlineno
        return {loop.line - first: loop.count for loop in self.tracker.loops if loop.count}


def counted(function) -> dict[int, int]:
    call = Recorder()
    call.tracker.ownership._known[__file__] = False
    call.tracker.ownership._known[Recorder.__call__.__code__.co_filename] = False
    function(call)
    return call.counts(function.__code__)


def test_iterations_are_counted_from_calls_at_any_place_and_depth():
    def helper(call):
        call()
        call()

    def f(call):
        for _ in range(5):  # 1
            helper(call)
            for _ in range(3):  # 3
                call()
            call()
        for i in range(6):  # 6
            if i % 2:
                call()
            else:
                helper(call)

    assert counted(f) == {1: 5, 3: 15, 6: 6}


def test_handlers_and_early_rounds_do_not_count_twice():
    def f(call):
        n = 0
        while n < 9:  # 2
            try:
                if n % 3 == 0:
                    raise KeyError
            except KeyError:
                call()
                call()
            n += 1
            call()
            if n % 2:
                continue
            call()

    assert counted(f) == {2: 9}


def test_one_instruction_may_look_at_several_results():
    class Result:
        def __init__(self, call):
            self.call = call

        def __float__(self):
            iteration = self.call.tracker.enter(sys._getframe(), time.perf_counter_ns(), 0, RESULT_READ)
            iteration.bits |= HOST
            return 1.0

    def look(call, result):
        float(result)
        call()
        return float(result)

    def f(call):
        result = Result(call)
        n = 0
        while n < 6:  # 3
            call()
            n += 1
            if n % 2:
                assert "%f %f" % (result, result)  # noqa: UP031
        for _ in range(5):  # 8
            float(result)
        for _ in (call() for _ in range(4)):  # 10
            float(result)
        for _ in range(3):  # 12
            look(call, result)

    call = Recorder()
    call.tracker.ownership._known[__file__] = False
    f(call)
    call.tracker.close_ended()
    first = f.__code__.co_firstlineno
    counts = [(loop.line - first, loop.count) for loop in call.tracker.loops if loop.name == "f"]
    assert counts == [(3, 6), (8, 5), (10, 4), (12, 3)] and not call.errors


def test_a_generator_and_a_comprehension_are_loops_of_their_own():
    def source(call):
        for i in range(4):  # -5 or so: found by its own line
            call()
            yield i

    def f(call):
        for _ in source(call):  # 1
            call()
        return [call() for _ in range(7)]

    counts = counted(f)
    assert counts[1] == 4 and counts[3] == 7 and sorted(counts.values()) == [4, 4, 7]


def test_a_loop_through_functions_shows_the_loop_around_it():
    def f(call):
        for _ in range(10):  # 1
            for number in (11, 12, 13):  # 2
                call(what=number)

    assert counted(f) == {1: 10, 2: 30}


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="functions can be looked into as well")
def test_the_variables_of_a_function_are_not_looked_at():
    """Looking copies them, and the copy would keep them alive."""

    def f(call):
        for _ in range(3):
            for n in range(4):
                call()
                thing = [n]
        return thing

    call = Recorder()
    f(call)
    assert all(loop.item == "" for loop in call.tracker.loops)


def test_at_the_top_level_the_variable_of_a_for_says_that_it_went_round():
    source = """
for a in range(6):  # 2
    for b in range(5):  # 3
        call()
for c in range(7):  # 5
    for _ in range(3):  # 6
        for _ in range(2):  # 7
            call()
for d in range(8):  # 9
    if d % 2:
        call()
    if not d % 2:
        call()
for e in range(9):  # 14
    for f in range(1):  # 15
        call()
for i, (j, k) in enumerate([(1, 2)] * 4):  # 17
    for m in (1, 2):  # 18
        m = m + 1
        call()
for g in range(20):  # 21
    call()
    if g % 5 == 0:
        call()
"""
    call = Recorder()
    exec(compile(source, __file__, "exec"), {"call": call})
    call.tracker.close_ended()
    assert call.errors == []
    counts = {loop.line: loop.count for loop in call.tracker.loops}
    assert counts == {2: 6, 3: 30, 5: 7, 6: 7, 7: 42, 9: 8, 14: 9, 15: 9, 17: 4, 18: 8, 21: 20}


class Data:
    """A dataset: its iterator tells the tracker of every item that is asked for."""

    def __init__(self, call: Recorder, items: int) -> None:
        self.call, self.items, self.left = call, items, 0

    def __iter__(self) -> Data:
        self.left = self.items
        return self

    def __next__(self) -> int:
        iteration = self.call.tracker.enter(sys._getframe(), time.perf_counter_ns(), 0, id(self))
        if not self.left:
            iteration.void = True
            raise StopIteration
        self.left -= 1
        iteration.bits |= DATA
        return self.left


def test_an_item_that_is_put_together_is_one():
    def f(call):
        one, other = Data(call, 6), Data(call, 4)
        for _ in zip(one, other, strict=False):  # 2
            call()
        for _ in range(3):  # 4
            for _ in enumerate(zip(one, other, strict=False)):  # 5
                call()
        for _ in map(lambda x: call(what=7), one):  # 7  # noqa: C417
            pass

    assert counted(f) == {2: 4, 4: 3, 5: 12, 7: 6}


def test_a_loop_over_data_that_ends_shows_the_loop_around_it():
    def f(call):
        data = Data(call, 4)
        for _ in range(6):  # 2
            for _ in data:  # 3
                call()
        it = iter(data)
        n = 0
        while n < 9:  # 7
            try:
                next(it)
            except StopIteration:
                iter(data)
                continue
            n += 1
        for _ in data:  # 14
            call()

    assert counted(f) == {2: 6, 3: 24, 7: 9, 14: 4}


def test_the_marks_keep_no_frame_and_no_local_alive():
    class Thing:
        pass

    import weakref

    def work(call):
        thing = Thing()
        call()
        return weakref.ref(thing)

    call = Recorder()
    for _ in range(3):
        assert work(call)() is None


def test_an_update_has_a_forward_pass_a_gradient_and_a_change():
    from tfslowtop.agent.steps.choice import choose

    def f(call):
        for _ in range(8):
            call(TAPE)
            for _ in range(4):
                call(GRADIENT)
            for _ in range(5):
                call(COMMIT)

    call = Recorder()
    f(call)
    call.tracker.close_ended()
    found = choose(call.tracker.loops, [])
    assert found is not None and found[0].count == 8


def a_loop(
    line: int, first: int, iterations: int, bits: int = TAPE | GRADIENT | COMMIT, last: int = 0
) -> Stream:
    made = Stream("loop", "main", "train.py", line)
    made.masks, made.entries, made.last = {bits << 16: iterations}, 1, last
    for wall in (first, *[1_000_000] * (iterations - 1)):
        made.buffer.put((0, wall, 0))
    made.buffer.drain(made.buffer.head, iterations)
    return made


def test_of_two_phases_the_one_with_more_work_is_the_step_whatever_their_first_iterations_take():
    from tfslowtop.agent.steps.choice import choose

    pretraining, training = a_loop(10, 3_000_000_000, 20), a_loop(20, 1_000_000_000, 400)
    assert choose([pretraining, training], [])[0] is training
    assert choose([pretraining], [])[0] is pretraining


def test_training_that_was_over_long_ago_is_no_longer_the_step():
    from tfslowtop.agent.steps.choice import choose

    serving = a_loop(20, 1_000_000, 1000, CALL, last=2_000_000_000)
    at_first, now_and_then = (
        a_loop(10, 1_000_000, 400, last=last) for last in (1_000_000_000, 1_900_000_000)
    )
    assert choose([at_first, serving], [])[0] is serving
    assert choose([now_and_then, serving], [])[0] is now_and_then


def told_step(*loops: Stream, step: str | None = None, chosen: int = -1) -> StepChosen:
    """What the agent says of the step when these are the loops of the program."""
    channel = MemoryChannel()
    attachment = Attachment(channel, step=step, script="train.py")
    attachment.context.tracker.loops += loops
    for number, loop in enumerate(loops):
        loop.id = number
    attachment.obey(ChooseStep(chosen))
    attachment.agent.flush()
    return [event for event in channel.events if isinstance(event, StepChosen)][-1]


def test_whether_the_step_trains_does_not_depend_on_who_named_it():
    training, serving = a_loop(10, 1_000_000, 400), a_loop(20, 1_000_000, 100, CALL)
    marked = Stream("own", "step", "train.py", 11)
    marked.buffer.put((0, 1_000_000, 0))
    assert told_step(training, serving).trains
    assert told_step(training, serving, chosen=0).trains
    assert told_step(training, serving, step="train.py:10").trains
    assert told_step(training, serving, marked) == StepChosen(2, "marked in the program", ANY, trains=True)
    assert not told_step(training, serving, chosen=1).trains
    assert not told_step(serving).trains
    assert not told_step(serving, marked).trains


@pytest.mark.parametrize(
    ("step", "notes"), [("train.py:10", []), ("nothing", ["--step nothing: nothing of that name repeated."])]
)
def test_a_step_that_is_never_seen_is_reported(step, notes):
    channel = MemoryChannel()
    attachment = Attachment(channel, step=step, script="train.py")
    attachment.context.tracker.loops.append(loop := a_loop(10, 1_000_000, 400))
    loop.id = 0
    attachment.remove()
    assert [event.text for event in channel.events if isinstance(event, Note)] == notes


def test_a_part_of_an_update_trains_too():
    whole, part = a_loop(10, 1_000_000, 40), a_loop(11, 1_000_000, 400, GRADIENT)
    whole.masks, part.outer = {(TAPE | COMMIT) << 16 | GRADIENT: 40}, whole
    assert told_step(whole, part, chosen=1).trains


def test_a_step_that_begins_to_train_is_told_again():
    channel = MemoryChannel()
    attachment = Attachment(channel, step=None, script="train.py")
    loop = a_loop(10, 1_000_000, 5, CALL)
    loop.id = 0
    attachment.context.tracker.loops.append(loop)
    for masks in ({CALL << 16: 5}, {(TAPE | GRADIENT | COMMIT) << 16: 5}):
        loop.masks = masks
        attachment.obey(ChooseStep(-1))
    attachment.agent.flush()
    assert [event.trains for event in channel.events if isinstance(event, StepChosen)] == [False, True]


@pytest.fixture(scope="module")
def seen() -> dict[str, dict]:
    """All loops, one after the other in one process, each with an agent of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(paths.ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    command = [sys.executable, str(paths.HELPERS / "drive.py"), *map(str, LOOPS)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    lines = [line[7:] for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert len(lines) == len(LOOPS), done.stderr[-3000:]
    return {result["script"]: result for result in map(json.loads, lines)}


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.stem)
def test_the_step_is_the_one_that_a_person_would_name(path: Path, seen: dict[str, dict]):
    lines = path.read_text().splitlines()
    count, place = [part.strip() for part in lines[-1].removeprefix("# expect:").split("|")][:2]
    result = seen[path.name]
    step = result["step"]
    assert not result["error"] and not result["notes"]
    assert step is not None and Path(step["file"]).is_relative_to(path.parent)
    assert place in Path(step["file"]).read_text().splitlines()[step["line"] - 1]
    if count == "counted":  # a loop that is only noticed after a while, and marked by an op
        counter = path.with_name(path.name + ".count")
        true = int(counter.read_text())
        counter.unlink()
        assert 0.3 * true < step["count"] <= true + 16
    else:
        assert step["count"] == int(count)


@pytest.mark.tensorflow
def test_a_trace_says_whose_function_it_is(seen: dict[str, dict]):
    own, keras = (
        {t["function"]: t["library"] for t in seen[f]["traces"]} for f in ("gan.py", "keras_fit.py")
    )
    assert own == {"critic": False, "generator": False, "initialize_variables": True}
    assert keras and all(keras.values())
