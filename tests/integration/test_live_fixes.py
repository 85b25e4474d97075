"""Live fixes in real scripts: they act when asked, change no result, and go away again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from live_script import LiveScript, forking

from tfslowtop.agent.protocol import events

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module", autouse=True)
def _one_import_of_tensorflow() -> Iterator[None]:
    with forking():
        yield


#: Ends each script: how many results were wrong.
RESULT = """
open("result", "w").write(f"wrong {wrong}")
"""

NUMBERS = """
@tf.function
def scale(x, n):
    return x * n

x = tf.ones([4])
wrong = n = 0
while running():
    n += 1
    wrong += float(scale(x, n * 0.5)[0]) != n * 0.5
"""

SHAPES = """
@tf.function
def total(x):
    return tf.reduce_sum(x * 2.0)

wrong = n = 0
while running():
    n += 1
    wrong += float(total(tf.ones([n]))) != 2.0 * n
"""

RECREATED = """
scale = 3.0
def make():
    @tf.function
    def triple(x):
        return x * scale
    return triple

wrong = n = 0
while running():
    n += 1
    wrong += float(make()(tf.constant(float(n)))) != 3.0 * n
"""

WORKING = {"numbers": NUMBERS, "shapes": SHAPES, "shared": RECREATED}


@pytest.mark.parametrize("kind", WORKING)
def test_a_fix_ends_the_retraces_and_its_removal_brings_them_back(tmp_path, kind):
    with LiveScript(tmp_path, WORKING[kind] + RESULT) as script:
        fix = script.offer(kind)
        answer = script.switch(fix)
        assert (answer.status, answer.compared) == ("on", True), answer
        script.more(1.5)  # the comparisons are over
        traces, (toggled,) = script.traces(), script.of(events.Toggled)[-1:]
        assert toggled.fixes == (fix,)
        script.more(1.5)
        assert script.traces() == traces
        assert script.switch().status == "off"
        assert script.of(events.Toggled)[-1].fixes == ()
        script.wait(lambda: script.traces() > traces + 5)
        assert script.finish() == 0
        assert script.has_written() == "wrong 0"


STATEFUL = """
v = tf.Variable(0.0)

@tf.function
def add(n):
    v.assign_add(tf.ones([]) * n)
    return v.read_value()

expected = n = wrong = 0
while running():
    n += 1
    expected += n % 50
    wrong += float(add(n % 50 if n < 9 else n % 50)) != expected
"""


def test_a_function_that_changes_state_is_never_run_twice(tmp_path):
    with LiveScript(tmp_path, STATEFUL + RESULT) as script:
        answer = script.switch(script.offer("numbers"))
        assert answer.status == "on" and not answer.compared and "not compared" in answer.sentence
        script.more(1.0)
        assert script.finish() == 0
        assert script.has_written() == "wrong 0"


REFUSED = {
    "range": "    for _ in range(n):\n        x = x + 1.0\n    return x",
    "branch": "    return x + 1.0 if n > 3 else x - 1.0",
    "shape": "    return tf.zeros([n]) + x[0]",
    "print": "    print('traced with', n)\n    return x * float(n)",
    "format": "    return x * [1.0, 2.0][n % 2]",
    "append": "    seen.append(n)\n    return x * n",
    "global": "    global last\n    last = n\n    return x * n",
    "attribute": "    note.last = n\n    return x * n",
    "raise": "    if n == 0.5: raise ValueError(n)\n    return x * (1.0 / n if n else 1.0)",
    "helper": "    note(n)\n    return x * n",
}


@pytest.mark.parametrize("body", REFUSED)
def test_a_body_that_needs_the_value_in_python_is_left_alone(tmp_path, body):
    text = f"""
seen, last = [], 0
def note(n):
    seen.append(n)
@tf.function
def f(x, n):
{REFUSED[body]}
x = tf.ones([4])
n = 0
while running():
    n += 1
    f(x, n)
open("result", "w").write(f"{{len(seen) in (0, n)}} {{last in (0, n)}}")
"""
    with LiveScript(tmp_path, text) as script:
        answer = script.switch(script.offer("numbers"))
        assert answer.status == "refused" and answer.sentence, answer
        traces = script.traces()
        script.wait(lambda: script.traces() > traces + 3)
        assert not any(t.fixes for t in script.of(events.Toggled))
        assert script.finish() == 0
        assert script.has_written() == "True True"


CHANGED_GLOBAL = """
factor = 1.0

@tf.function
def f(x, n):
    return x * factor + n

x = tf.ones([])
n = wrong = 0
while running():
    n += 1
    if os.path.exists("change"):
        factor = 2.0
    wrong += float(f(x, n)) != factor + n
"""


#: The same in an attribute, which a method that the function calls reads.
CHANGED_ATTRIBUTE = """
class Model:
    def __init__(self): self.factor = 1.0
    def scaled(self, x): return x * self.factor
    @tf.function
    def f(self, x, n): return self.scaled(x) + n

model, x = Model(), tf.ones([])
n = wrong = 0
while running():
    n += 1
    if os.path.exists("change"):
        model.factor = 2.0
    wrong += float(model.f(x, n)) != model.factor + n
"""


@pytest.mark.parametrize("text", [CHANGED_GLOBAL, CHANGED_ATTRIBUTE], ids=["global", "attribute"])
def test_a_constant_that_changes_rolls_the_fix_back(tmp_path, text):
    with LiveScript(tmp_path, text + RESULT) as script:
        assert script.switch(script.offer("numbers")).status == "on"
        script.more(1.0)
        (tmp_path / "change").touch()
        script.wait(lambda: script.of(events.FixAnswered)[-1].status == "rolled back")
        assert "factor" in script.of(events.FixAnswered)[-1].sentence
        assert script.of(events.Toggled)[-1].fixes == ()
        assert script.finish() == 0
        assert script.has_written() == "wrong 0"


THREADS = """
import threading

@tf.function
def f(x, n):
    return x * n

x = tf.ones([])
wrong = 0
def work(offset):
    global wrong
    n = 0
    while running():
        n += 1
        wrong += float(f(x, n + offset)) != n + offset
threads = [threading.Thread(target=work, args=(i * 10_000,)) for i in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""

REENTRANT = """
@tf.function
def f(x, n):
    return x * n + (tf.numpy_function(inner, [x], tf.float32) if False else 0.0)

@tf.function
def g(x, n):
    return tf.py_function(lambda v: f(v, 2.0), [x], tf.float32) * n

x = tf.ones([])
n = wrong = 0
while running():
    n += 1
    wrong += float(g(x, n)) != 2.0 * n
    wrong += float(f(x, n)) != n
"""


@pytest.mark.parametrize("text", [THREADS, REENTRANT], ids=["threads", "re-entrant"])
def test_calls_from_threads_and_from_inside_stay_right(tmp_path, text):
    with LiveScript(tmp_path, text + RESULT) as script:
        script.switch(script.offer("numbers"))
        script.more(2.0)
        script.switch()
        script.more(0.5)
        assert script.finish() == 0
        assert script.has_written() == "wrong 0"


CRASHING = """
@tf.function
def f(x, n):
    return tf.debugging.assert_less(x * n, 1e9, message="too large") or x * n

@tf.function
def g(x, n):
    return x * n

x = tf.ones([])
n = 0
while running():
    n += 1
    g(x, n)
raise RuntimeError("the script's own error")
"""


def test_a_script_that_crashes_under_a_fix_crashes_as_without_it(tmp_path):
    with LiveScript(tmp_path, CRASHING) as script:
        assert script.switch(script.offer("numbers")).status == "on"
        assert script.finish() == 1


def test_a_detached_script_has_no_fix_left(tmp_path):
    count = """
a = scale.experimental_get_tracing_count()
for i in range(20): scale(x, i + 0.25)
b = scale.experimental_get_tracing_count()
import tensorflow.python.eager.polymorphic_function.polymorphic_function as p
open("result", "w").write(f"wrong {wrong} {b - a} {p.Function._call.__module__}")
"""
    with LiveScript(tmp_path, NUMBERS + count) as script:
        assert script.switch(script.offer("numbers")).status == "on"
        script.source.send(events.Detach())
        script.more(2.0)
        assert script.finish() == 0
        assert script.has_written().startswith("wrong 0 20 tensorflow")


def test_an_error_under_a_fix_is_the_programs_own(tmp_path):
    text = """

@tf.function
def f(x, n):
    with tf.control_dependencies([tf.debugging.assert_less(x * n, 1e6)]):
        return x * n

x = tf.ones([])
n = 0
while running():
    n += 1
    f(x, float(n))
try:
    f(x, 1e7)
except tf.errors.InvalidArgumentError:
    open("result", "w").write("InvalidArgumentError")
"""
    with LiveScript(tmp_path, text) as script:
        script.switch(script.offer("numbers"))
        script.more(1.0)
        assert script.finish() == 0
        assert script.has_written() == "InvalidArgumentError"


SEEDED = """
tf.random.set_seed(1)

@tf.function
def f(x, n):
    return x * n + tf.random.normal([])

x, n = tf.ones([]), 0
while running():
    n += 1
    f(x, n)
"""


def test_random_numbers_with_a_seed_stay_as_they_are(tmp_path):
    with LiveScript(tmp_path, SEEDED) as script:
        answer = script.switch(script.offer("numbers"))
        assert answer.status == "refused" and "seed" in answer.sentence


EAGERLY = """
tf.config.run_functions_eagerly(True)
runs = 0

@tf.function
def f(x):
    count()
    for _ in range(20):
        x = x + 1.0
    return x

x, n, wrong = tf.ones([]), 0, 0
while running():
    n += 1
    wrong += float(f(x * n)) != n + 20.0
tf_eager = tf.config.functions_run_eagerly()
open("result", "w").write(f"wrong {wrong} {tf_eager}")
"""


def test_functions_that_run_eagerly_are_compiled_and_the_switch_stays(tmp_path):
    with LiveScript(tmp_path, EAGERLY.replace("    count()\n", "")) as script:
        fix = script.offer("compiled")
        assert script.traces() == 0
        answer = script.switch(fix)
        assert (answer.status, answer.compared) == ("on", True), answer
        script.wait(lambda: script.traces() == 1)
        script.more(0.5)
        assert script.switch().status == "off"
        script.more(0.5)
        assert script.finish() == 0
        assert script.has_written() == "wrong 0 True"
        assert script.traces() == 1


@pytest.mark.parametrize(
    "effect", ["    print(end='')\n", "    x.numpy()\n", "    x = x + [0.0, 0.0][int(x) % 2]\n"]
)
def test_a_function_that_needs_to_run_eagerly_is_left_alone(tmp_path, effect):
    with LiveScript(tmp_path, EAGERLY.replace("    count()\n", effect)) as script:
        answer = script.switch(script.offer("compiled"))
        assert answer.status == "refused" and answer.sentence, answer
        script.more(0.5)
        assert script.finish() == 0
        assert script.has_written() == "wrong 0 True"


GARBAGE = """
import gc
x = tf.ones([4])
kept = [[i] for i in range(1_000_000)]

@tf.function
def f(x):
    return x + 1.0

while running():
    f(x)
    gc.collect()
open("result", "w").write(str(gc.get_freeze_count()))
"""


def test_frozen_garbage_is_thawed_again(tmp_path):
    with LiveScript(tmp_path, GARBAGE) as script:
        fix = script.offer("gc")
        assert script.switch(fix).status == "on"
        assert script.of(events.Toggled)[-1].fixes == (fix,)
        script.more(0.5)
        assert script.switch().status == "off"
        assert script.finish() == 0
        assert script.has_written() == "0"


PREDICT = """
import numpy as np
import keras

keras.utils.set_random_seed(3)
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(2)])
x = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
expected = model.predict(x, verbose=0)
wrong = 0
batch = model.predict_on_batch
model.predict_on_batch = lambda x: (time.sleep(0.05), batch(x))[1]  # the other ways return tensors
while running():
    made = model.predict(x, verbose=0)
    wrong += not np.allclose(made, expected, rtol=1e-4, atol=1e-5)
    made[0] = 0.0
"""


def test_predict_goes_directly_to_the_model_and_back(tmp_path):
    def calls() -> int:
        streams = {s.id: s.kind for s in script.of(events.Stream)}
        return sum(len(s) for s in script.of(events.Samples) if streams.get(s.stream) == "predict")

    with LiveScript(tmp_path, PREDICT + RESULT) as script:
        answer = script.switch(script.offer("predict"))
        assert (answer.status, answer.compared) == ("on", True), answer
        script.more(1.0)
        before = calls()
        script.more(1.0)
        assert calls() == before
        assert script.switch().status == "off"
        script.wait(lambda: calls() > before + 5)
        assert script.finish() == 0
        assert script.has_written() == "wrong 0"


def test_a_model_with_its_own_predict_step_is_left_alone(tmp_path):
    own = PREDICT.replace(
        "model = keras.Sequential(",
        "class Own(keras.Sequential):\n"
        "    def predict_step(self, data):\n"
        "        return 2.0 * super().predict_step(data)\n"
        "model = Own(",
    )
    with LiveScript(tmp_path, own + RESULT) as script:
        answer = script.switch(script.offer("predict"))
        assert answer.status == "refused" and "predict_step" in answer.sentence, answer
        assert script.finish() == 0
        assert script.has_written() == "wrong 0"
