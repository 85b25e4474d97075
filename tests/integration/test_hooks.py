"""The hooks in a real TensorFlow: what they see, that they come off, and that they change nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from paths import HELPERS, ROOT

from tfslowtop.agent.hooks.feeds import copied

pytestmark = pytest.mark.tensorflow


RETRACES = """
import tensorflow as tf

@tf.function
def f(x, lr=0.1, training=False):
    return x * lr

@tf.function
def g(d, o=None):
    return tf.constant(1)

class Thing: pass

class Net(tf.Module):
    def __init__(self): self.v = None
    @tf.function
    def __call__(self, x):
        if self.v is None: self.v = tf.Variable(tf.zeros([2]))
        return self.v + x

x = tf.ones([2])
f(x); f(x, 0.2); f(x, training=True); f(tf.ones([3])); f(tf.ones([2], tf.float64))
g([x]); g([x, x]); g({"a": x}); g({"b": x})
a, b = Thing(), Thing()
g([x], a); g([x], b)
for i in range(3):
    @tf.function
    def h(x): return x + 1
    h(x)
Net()(x); Net()(x)

@tf.function
def down(n):
    return down(n - 1) + 1 if n > 0 else tf.constant(0)
down(2)
"""

ACTIVITY = """
import gc
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1

class Slow(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        sum(range(20000))

model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.zeros([32, 4]), np.zeros([32, 1]), batch_size=8, verbose=0, callbacks=[Slow()])

def double(a):
    return np.float32(a * 2)

def triple(a):
    return np.float32(a * 3)

def half(a):
    return a / 2

@tf.function
def twice(x):
    return tf.numpy_function(double, [x], tf.float32)

for i in range(5):
    w = tf.Variable(1.0)  # variable
    opt = tf.keras.optimizers.SGD(0.1)  # optimizer
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])  # model
    big = tf.constant(np.zeros([100, 1000], "float32"))  # copy
    s = tf.reduce_sum(big).numpy()  # sync
    t = twice(tf.constant(1.0))
    t = tf.numpy_function(triple, [t], tf.float32) + tf.py_function(half, [t], tf.float32)

for x in tf.data.Dataset.range(6):  # dataset
    pass

with tf.Graph().as_default():
    c = tf.constant(1.0)
    for i in range(4):
        with v1.Session() as sess:  # session
            sess.run(c + 1.0)  # op

with tf.Graph().as_default():
    fed = v1.placeholder(tf.float32, [None])
    total = tf.reduce_sum(fed)
    told = v1.summary.merge([v1.summary.scalar("total", total)])
    with v1.Session() as sess:
        for i in range(3):
            sess.run(total, feed_dict={fed: np.zeros(2_000_000)})  # fed
            sess.run(total, feed_dict={fed: np.zeros(2, "float32")})
            sess.run([told], feed_dict={fed: np.zeros(2, "float32")})  # summary

@tf.function(input_signature=[tf.TensorSpec([None])], jit_compile=True)
def compiled(x):
    return tf.reduce_sum(x)

@tf.function(jit_compile=True)
def inner(x):
    return tf.reduce_sum(x)

@tf.function(input_signature=[tf.TensorSpec([None])])
def outer(x):
    return inner(x) + 1.0

@tf.function
def over(data, scale):
    total = 0.0
    for x in data:
        total += x * scale
    return total

numbers = tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32))
for i in range(3):
    over(numbers, float(i))  # looped

rows, world = np.ones([6, 4], "float32"), np.zeros([6, 4], "float32")
for i in range(6):
    compiled(tf.ones([2 + i % 3]))  # shape
    outer(tf.ones([2 + i % 3]))  # within
    net(rows[i : i + 1])  # row
    world[i] = i + 1
    net(world[i][None])  # acts
gc.collect()  # collect
"""

FAILING = """
import sys
import tensorflow as tf

@tf.function
def f(x):
    return tf.linalg.inv(x)

def go():
    for i in range(4):
        f(tf.ones([2, 2]) if i == 3 else tf.eye(2))

print(float(tf.reduce_sum(f(tf.eye(2)))))
tf.random.set_seed(1)
v = tf.Variable(tf.random.normal([3, 3]))
for i in range(10):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.tanh(v) ** 2)
    v.assign_sub(0.1 * tape.gradient(loss, v))
print(v.numpy().tobytes().hex())
go()
"""

RUN = """
import sys
path, watched = sys.argv[1], sys.argv[2] == "watched"
if watched:
    from tfslowtop.agent.attachment import start
    from tfslowtop.agent.protocol.channel import MemoryChannel
    attachment = start(MemoryChannel(1 << 20), step=None, script=path)
exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
"""

DETACH = """
import gc, inspect, json, sys, time
from tfslowtop.agent.attachment import start
from tfslowtop.agent.protocol.channel import MemoryChannel
import tensorflow as tf, keras
from tensorflow.python.client import session
from tensorflow.python.eager.polymorphic_function import polymorphic_function as p
from tensorflow.python.framework import ops
from tensorflow.python import pywrap_tfe
from tensorflow.python.ops import gen_math_ops as g, resource_variable_ops as r
from keras.src.backend.tensorflow import trainer

def state():
    classes = (p.Function, session.BaseSession, ops.Graph, ops._EagerTensorBase, r.BaseResourceVariable,
               r.ResourceVariable, trainer.TensorFlowTrainer, keras.Model, tf.GradientTape)
    attributes = {c: {n: v for n, v in vars(c).items() if n != "__annotations__"} for c in classes}
    names = {n: inspect.unwrap(v) for m in (g, pywrap_tfe) for n, v in vars(m).items()}
    codes = {n: getattr(v, "__code__", v) for n, v in names.items()}
    return attributes, list(gc.callbacks), list(sys.meta_path), codes

before = state()
channel = MemoryChannel(1 << 20)
attachment = start(channel, step=None, script="x.py")
during = state()
f = tf.function(lambda x: x + 1)
for i in range(5): f(tf.ones([2]))
x, end = tf.ones([2]), time.monotonic() + 60
while state()[3]["tanh"] is before[3]["tanh"] and time.monotonic() < end:
    for i in range(1000): x = tf.tanh(x)
marked = state()[3]["tanh"] is not before[3]["tanh"]
attachment.remove()
after = state()
print(json.dumps({"put in": before[0] != during[0] and marked, "taken out": before == after,
                  "errors": attachment.context.errors, "trace": sys._getframe().f_trace is None}))
for i in range(5): f(tf.ones([2]))
"""


RUN_SUMMARIES = "_, text = sess.run([train, told], {x: np.full([8, 200], i / 40)})"
LARGE_ARRAY = """data = np.full(8_000 * 200 + 32, 0.5, np.float32)
    text, start = '', (-data.ctypes.data // 4) % 16 + 1
    rows = data[start:start + 8_000 * 200].reshape(-1, 200)
    for i in range(25):"""
TELLING = """
import sys, time
import numpy as np
import tensorflow.compat.v1 as tf
if sys.argv[-1] == "watched":
    from tfslowtop.agent.attachment import start
    from tfslowtop.agent.protocol.channel import MemoryChannel
    channel = MemoryChannel(1 << 22)
    attachment = start(channel, step=None, script=__file__)
tf.disable_v2_behavior()
tf.set_random_seed(1)
x = tf.placeholder(tf.float32, [None, 200])
w = tf.get_variable("w", [200, 200])
loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, w)))
tf.summary.histogram("w", w)
told, train = tf.summary.merge_all(), tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(40):
        RUN_SUMMARIES
        time.sleep(0.1)
    try:
        sess.run([told, loss], {x: np.zeros([8, 3])})
    except Exception as error:
        print(type(error).__name__, str(error)[:60])
    print(sess.run(w).tobytes().hex()[:200], len(text))
if sys.argv[-1] == "watched":
    from tfslowtop.agent.protocol.events import Tally
    attachment.remove()
    traces = [e for e in channel.events if isinstance(e, Tally) and e.what == "run-trace"]
    print({e.symbol: e.count for e in traces}, all(e.wall > 0 for e in traces), attachment.context.errors)
""".replace("RUN_SUMMARIES", RUN_SUMMARIES)


THREADS = """
import threading
import tensorflow as tf

@tf.function
def ready(x):
    return x * 2

@tf.function
def other(x):
    return x + 3

ready(tf.ones([2]))
inside, done = threading.Event(), threading.Event()

@tf.function(autograph=False)
def long(x):
    inside.set()
    done.wait(100)
    return x + 1

thread = threading.Thread(target=lambda: long(tf.ones([2])))
thread.start()
inside.wait(100)
for i in range(7):
    ready(tf.ones([2]))
    float(tf.ones([]))  # pulled
other(tf.ones([2]))
done.set()
thread.join()
"""


SCRIPTS = {"retraces.py": RETRACES, "activity.py": ACTIVITY, "threads.py": THREADS}
#: Twenty-five runs with a large array that is not aligned, so that it is copied.
FED = TELLING.replace("for i in range(40):", LARGE_ARRAY).replace(RUN_SUMMARIES, "sess.run(train, {x: rows})")


def without(name: str) -> str:
    """A program in whose TensorFlow a run cannot be traced, because this class is missing."""
    spoil = f"    import tensorflow.core.protobuf.config_pb2 as config\n    del config.{name}\n"
    return TELLING.replace("    for i in range(40):", spoil + "    for i in range(25):")


@dataclass(frozen=True)
class Done:
    """How a program ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> dict[str, Done]:
    """Run all programs, each in a process of its own."""
    directory = tmp_path_factory.mktemp("programs")

    def write(name: str, text: str) -> str:
        (directory / name).write_text(text)
        return str(directory / name)

    programs = {
        "drive": [str(HELPERS / "drive.py"), *(write(name, text) for name, text in SCRIPTS.items())],
        "detach": [write("detach.py", DETACH)],
    }
    for name, text in {"telling": TELLING, "fed": FED}.items():
        for how in ("bare", "watched"):
            programs[f"{name}-{how}"] = [write(f"{name}.py", text), how]
    for how in ("bare", "watched"):
        programs[f"failing-{how}"] = [write("run.py", RUN), write("failing.py", FAILING), how]
    for missing in ("RunOptions", "RunMetadata"):
        programs[missing] = [write(f"without_{missing}.py", without(missing)), "watched"]
    (directory / "programs.json").write_text(json.dumps(programs))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }
    command = [sys.executable, str(HELPERS / "forked.py"), str(directory)]
    subprocess.run(command, env=environment, check=True, timeout=600)
    codes = json.loads((directory / "codes.json").read_text())
    return {
        name: Done(codes[name], *((directory / f"{name}.{stream}").read_text() for stream in ("out", "err")))
        for name in programs
    }


@pytest.fixture(scope="module")
def seen(done: dict[str, Done]) -> dict[str, dict]:
    lines = [line[7:] for line in done["drive"].out.splitlines() if line.startswith("RESULT ")]
    assert len(lines) == len(SCRIPTS), done["drive"].err[-3000:]
    results = {result["script"]: result for result in map(json.loads, lines)}
    assert not any(result["error"] or result["notes"] for result in results.values())
    return results


def causes(result: dict, function: str) -> list[tuple[str, str]]:
    return [
        (reason["cause"], reason["argument"])
        for trace in result["traces"]
        if trace["function"] == function
        for reason in trace["reasons"]
    ]


def test_every_retrace_has_its_reason(seen):
    result = seen["retraces.py"]
    assert causes(result, "f") == [
        ("first-trace", ""),
        ("retrace-python-value", "lr"),
        ("retrace-python-value", "training"),
        ("retrace-shape", "x"),
        ("retrace-dtype", "x"),
    ]
    assert causes(result, "g") == [
        ("first-trace", ""),
        *[("retrace-structure", "d")] * 3,
        ("retrace-python-value", "o"),
        ("retrace-object", "o"),
    ]
    assert causes(result, "down") == [("retrace-python-value", "n")] * 2 + [("first-trace", "")]
    assert causes(result, "h") == [("first-trace", ""), *[("function-recreated", "")] * 2]
    normal = {"first-trace", "second-trace", "new-instance"}
    assert {cause for cause, _ in causes(result, "__call__")} == normal


def test_a_reason_says_the_values_and_the_trace_the_users_line(seen):
    traces = [t for t in seen["retraces.py"]["traces"] if t["function"] == "f"]
    reason = traces[1]["reasons"][0]
    assert (reason["before"], reason["after"]) == ("float 0.1", "float 0.2")
    lines = RETRACES.splitlines()
    assert all(lines[t["user_line"] - 1].startswith("f(x)") and t["wall"] > 0 for t in traces)


def test_a_reason_has_classes_dtypes_and_batch_sizes_as_fields(seen):
    traces = seen["retraces.py"]["traces"]
    first, lr, _, shape, dtype = [t["reasons"][0] for t in traces if t["function"] == "f"]
    (thing,) = [r for t in traces for r in t["reasons"] if r["cause"] == "retrace-object"]
    assert first["batch_sizes"] == [2] and shape["batch_sizes"] == []
    assert (lr["before_class"], lr["after_class"], lr["before_dtype"]) == ("float", "float", "")
    assert (dtype["before_dtype"], dtype["after_dtype"], dtype["after_class"]) == ("float32", "float64", "")
    assert (thing["before_class"], thing["after_class"]) == ("Thing", "Thing")


def test_a_thread_that_traces_hides_nothing_of_the_others(seen):
    result = seen["threads.py"]
    (ready,) = [s for s in result["streams"] if s["name"] == "ready"]
    assert ready["count"] == 8
    pulled = [t["count"] for t in result["tallies"] if t["what"] == "host-sync"]
    assert max(pulled) == 7
    assert {t["function"]: t["nested"] for t in result["traces"]} == {
        "ready": False,
        "other": False,
        "long": False,
    }


def line_of(marker: str) -> int:
    return next(n for n, line in enumerate(ACTIVITY.splitlines(), 1) if line.endswith("# " + marker))


@pytest.mark.parametrize(
    ("what", "marker", "count"),
    [
        ("variable", "variable", 5),
        ("optimizer", "optimizer", 5),
        ("model", "model", 5),
        ("host-copy", "copy", 5),
        ("host-sync", "sync", 5),
        ("host-copy", "fed", 3),
        ("dataset", "dataset", 1),
        ("session", "session", 4),
        ("summaries", "summary", 3),
        ("xla-shape", "shape", 3),
        ("xla-shape", "within", 3),
        ("one-row", "row", 5),
        ("one-item", "row", 5),
        ("gc-pause", "collect", 1),
    ],
)
def test_what_a_line_does_is_counted_for_that_line(seen, what, marker, count):
    tallies = [
        t for t in seen["activity.py"]["tallies"] if t["what"] == what and t["line"] == line_of(marker)
    ]
    assert tallies and tallies[-1]["count"] == count
    if what == "host-copy":
        assert tallies[-1]["size"] == count * {"copy": 400_000, "fed": 16_000_000}[marker]


def test_what_a_function_makes_of_a_dataset_while_it_is_traced_is_no_dataset(seen):
    made = {(t["what"], t["line"]) for t in seen["activity.py"]["tallies"]}
    assert not {("dataset", line_of("looped")), ("iterator", line_of("looped"))} & made


def test_rows_that_are_written_between_the_calls_are_not_counted(seen):
    assert not [
        t for t in seen["activity.py"]["tallies"] if t["what"] == "one-row" and t["line"] == line_of("acts")
    ]


def test_ops_added_to_a_running_graph_have_a_line(seen):
    tallies = [t for t in seen["activity.py"]["tallies"] if t["what"] == "graph-op"]
    assert {t["line"] for t in tallies} == {line_of("op")} and tallies[-1]["count"] >= 3


def test_streams_have_kind_name_and_the_users_line(seen):
    streams = {(s["kind"], s["name"]): s for s in seen["activity.py"]["streams"]}
    runs = {s["line"]: s["count"] for s in seen["activity.py"]["streams"] if s["kind"] == "session-run"}
    assert runs[line_of("op")] == 4
    assert [streams["python-op", name]["count"] for name in ("double", "triple", "half")] == [5, 5, 5]
    assert streams["data-wait", "next element"]["count"] == 6
    assert ("library-function", "one_step_on_iterator") in streams or any(
        k == "library-function" for k, _ in streams
    )
    callbacks = [t for t in seen["activity.py"]["tallies"] if t["symbol"] == "Slow.on_train_batch_end"]
    assert callbacks[-1]["count"] == 4 and callbacks[-1]["wall"] > 0


def test_results_output_and_tracebacks_are_those_of_the_bare_program(done):
    bare, watched = done["failing-bare"], done["failing-watched"]
    assert watched.code == bare.code == 1
    assert watched.out == bare.out and len(bare.out) > 50

    def clean(text: str) -> str:
        kept = [line for line in text.splitlines() if "cuda" not in line and "absl" not in line]
        return "\n".join(kept[kept.index("Traceback (most recent call last):") :])

    if sys.version_info >= (3, 11):
        assert clean(watched.err) == clean(bare.err)
    else:
        assert clean(watched.err).splitlines()[-1] == clean(bare.err).splitlines()[-1]


@pytest.mark.parametrize(
    ("program", "pattern"),
    [
        ("telling", r"\{'summaries': (\d), 'others': \1\} True 0"),
        ("fed", r"\{'without': (\d), 'feeding': \1\} False 0"),
    ],
    ids=["summaries", "large-arrays"],
)
def test_traced_runs_give_what_they_gave(done, program, pattern):
    """Runs are traced for the cost of their summaries and of the large arrays that they copy."""
    bare, watched = done[f"{program}-bare"], done[f"{program}-watched"]
    *same, traces = watched.out.splitlines()
    assert same == bare.out.splitlines() and len(same) == 2, watched.err[-2000:]
    assert re.fullmatch(pattern, traces), traces


def test_an_array_that_begins_at_the_right_place_is_not_copied():
    data = np.zeros((1 << 20) + 32, np.float32)
    first = (-data.ctypes.data // 4) % 16
    aligned, other = (data[start : start + (1 << 20)] for start in (first, first + 1))
    assert copied({"x": aligned}) == 0 and copied({"x": other, "y": other[:9], "z": [1]}) == other.nbytes
    assert copied(None) == 0


@pytest.mark.parametrize("missing", ["RunOptions", "RunMetadata"])
def test_a_run_that_cannot_be_traced_is_run_all_the_same(done, missing):
    *said, traces = done[missing].out.splitlines()
    assert done[missing].code == 0 and len(said) == 2, done[missing].err[-2000:]
    assert not traces.endswith(" 0"), "errors of ours are counted"


def test_the_hooks_come_off_and_leave_everything_as_it_was(done):
    detach = done["detach"]
    assert detach.code == 0, detach.err[-2000:]
    assert json.loads(detach.out.splitlines()[-1]) == {
        "put in": True,
        "taken out": True,
        "errors": 0,
        "trace": True,
    }


def test_a_step_marked_in_a_program_that_is_not_watched_costs_next_to_nothing():
    import tfslowtop

    with tfslowtop.step():
        pass
    assert "tfslowtop.agent" not in tfslowtop.step.__code__.co_names
