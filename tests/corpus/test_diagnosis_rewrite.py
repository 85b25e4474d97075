"""Changes to the source of scripts as users write them."""

# ruff: noqa: E501  (lines of code, in strings)
from __future__ import annotations

import ast
from dataclasses import replace

import corpus_run
import pytest

from tfslowtop.diagnosis import registry
from tfslowtop.diagnosis.finding import Finding, Fix
from tfslowtop.diagnosis.rewriting.rewrite import rewritten
from tfslowtop.export.findings import code
from tfslowtop.export.findings import finding as json_of
from tfslowtop.ui.screens.finding import describe


def found(cause: str, line: int, symbol: str = "", file: str = "/u/a.py", **evidence) -> Finding:
    evidence = {"function_file": file, **evidence}
    return Finding(cause, file, line, symbol, 0, 1.0, 1.0, "high", "", Fix("", "example"), evidence)


CORPUS = {
    "linear_schedule": ("train_step", {"argument": "lr"}, "train_step(xb, yb, tf.constant(lr))"),
    "char_rnn": ("train", {}, "@tf.function(reduce_retracing=True)\ndef train("),
    "segment_scores": ("score", {}, "@tf.function(jit_compile=False, reduce_retracing=True)"),
    "mixed_readers": ("normalise", {"argument": "image", "dtypes": ["float64", "float32"]}, "tf.cast(image, tf.float64)"),
    "policy_update": ("update", {"argument": "config"}, "config = Config(0.99, 0.2)\nfor episode"),
    "style_transfer": ("step", {}, "    return loss, grad\nfor i in range(rounds):"),
    "kalman": ("", {}, "op = tf.compat.v1.assign(state, new_in)\nfor t in range(220):\n    sess.run(op, {new_in: new})"),
    "ranking_eval": ("", {}, "op = tf.nn.top_k(logits, k=5)\nfor i in range(250):\n    scores = sess.run(op, {x: batch})"),
    "ocr_service": ("", {}, "with tf.Session(graph=self.graph) as sess:"),
    "meta_step": ("Adam", {}, "optimizer = tf.keras.optimizers.Adam(learning_rate=0.001)\ndef train_step():"),
    "eval_probe": ("", {}, "batches = iter(val.repeat())\nfor step in range(20):\n    batch = next(batches)"),
    "cartpole_scores": ("model.predict", {}, "q = model.predict_on_batch(state[None])"),
    "augment_images": ("", {}, "ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)"),
    "checkpoint_often": ("", {}, "if step % 100 == 0:\n    manager.save()"),
    "tidy_memory": ("gc", {}, "gc.freeze()\nfor i in range(12):"),
    "loss_history": ("losses", {"entry_bytes": 131072.0}, "losses = collections.deque(maxlen=100)"),
    "unrolled_ode": ("", {}, "for i in tf.range(steps):"),
    "rowwise_norm": ("", {}, "return tf.vectorized_map(lambda row:"),
    "frame_upload": ("", {}, "frames_on_device = tf.constant(frames)\nfor k in range(250):\n    frame = frames_on_device[k % 4]"),
    "counter_state": ("", {}, "counter.assign(tf.zeros([200, 200]))"),
}  # fmt: skip


@pytest.mark.parametrize("name", CORPUS)
def test_a_change_consists_of_the_users_own_lines(name):
    symbol, evidence, wanted = CORPUS[name]
    case = corpus_run.cases(name)[0]
    file = corpus_run.CORPUS / case.script
    lines = file.read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if case.lines[0] in text)
    text = code(found(case.cause, line, symbol, str(file), **evidence))
    before, _, after = text.partition("# after\n")
    assert wanted in after
    for row in before.splitlines()[1:]:
        assert row.strip() == "..." or any(row.strip() in own for own in lines), row


def test_the_screen_shows_the_basis_of_the_cost():
    f = found("retrace-python-value", 1, "train_step", argument="lr")
    assert "Expect  A step takes 3 ms" in describe(replace(f, expect="A step takes 3 ms."), 90).plain
    assert "1.0 s, 100 % of the time" in describe(f, 90).plain
    assert "At most 1.0 s" in describe(replace(f, basis="at most"), 90).plain
    unknown = replace(f, cause="tensor-leak", basis="not measured")
    assert "not measured" in describe(unknown, 90).plain and unknown.share_words == "memory"
    assert json_of(unknown)["cost_seconds"] is None


CHANGES = [
    ("tensor-leak", "losses", "for x in data:\n    losses.append(loss)\n", 2, "losses.append(float(loss))"),
    ("host-sync", "", "for x in data:\n    out.append(f(x).numpy())\n", 2, "out.append(f(x))\n# after the loop: np.array(out)"),
    ("session-per-step", "", "for x in data:\n    with tf.Session() as s:\n        s.run(y)\n", 2,
     "with tf.Session() as s:\n    for x in data:\n        s.run(y)"),
    ("session-per-step", "", "for x in data:\n    a(x)\n    with tf.Session() as s:\n        s.run(y)\n    b(x)\n", 3,
     "with tf.Session() as s:\n    for x in data:\n        a(x)\n        s.run(y)\n        b(x)"),
    ("session-leak", "", "s = tf.InteractiveSession()\n", 1, "with tf.Session() as s:\n    ..."),
    ("eager-step", "", "def train(x):\n    y = x + 1\n    return y\n", 2, "@tf.function\ndef train(x):"),
    ("eager-step", "", "def train(x):\n    return x\n\ndef main():\n    for x in data:\n        y = train(x)\n", 6,
     "@tf.function\ndef train(x):"),
    ("predict-loop", "model.fit", "for s in states:\n    model.fit(s, t, epochs=1)\n", 2, "model.train_on_batch(s, t)"),
    ("retrace-structure", "f", "def f(a, b): pass\nf(1, parts)\n", 2, "f(1, tf.stack(parts))"),
    ("retrace-python-value", "f", "@tf.function\ndef f(é, n): pass\nf('ü', n=i * 2)\n", 3, "f('ü', n=tf.constant(i * 2))"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "symbol", "source", "line", "wanted"), CHANGES)
def test_changes(cause, symbol, source, line, wanted):
    argument = {"retrace-structure": "b", "retrace-python-value": "n"}.get(cause, "")
    change = rewritten(found(cause, line, symbol, argument=argument, entry_bytes=4.0, batches=1), source)
    assert change is not None and change.after == wanted
    ast.parse(change.after.replace("def train(x):", "def train(x): pass"))


UNSAFE = {
    "environment": "    nxt, r = env.step(x)\n    return nxt",
    "numpy": "    return np.tanh(x)",
    "numpy function": "    return np.argmax(f(x))",
    "value": "    return f(x).numpy()",
    "print": "    print(x)\n    return x",
    "append": "    seen.append(x)\n    return x",
    "attribute": "    self.x = x\n    return x",
    "called function": "    return helper(x)",
    "new variable": "    w = tf.Variable(x)\n    return w * x",
}


@pytest.mark.parametrize("body", UNSAFE.values(), ids=UNSAFE)
def test_a_step_that_is_more_than_a_graph_is_not_decorated(body):
    source = f"def helper(x):\n    print(x)\n\ndef train(x):\n{body}\n\nfor x in data:\n    y = train(x)\n"
    line = len(source.splitlines())
    assert rewritten(found("eager-step", line), source) is None
    safe = source.replace(body, "    return tf.tanh(tf.reduce_sum(x))")
    assert rewritten(found("eager-step", len(safe.splitlines())), safe) is not None


def test_a_step_that_gets_a_counter_is_not_decorated():
    source = "def train(x, n):\n    return x * n\n\nfor i in range(9):\n    y = train(x, i)\n"
    assert rewritten(found("eager-step", 5), source) is None


@pytest.mark.parametrize(
    ("symbol", "call"),
    [
        ("model.fit", "h = model.fit(x, y)"),  # its result is used
        ("model.fit", "model.fit(x, y, epochs=3)"),
        ("model.predict", "p = model.predict(x, callbacks=[c])"),
        ("model.evaluate", "l = model.evaluate(x, y)"),  # test_on_batch adds to earlier metrics
    ],
)
def test_a_call_that_does_more_than_one_batch_is_left_alone(symbol, call):
    assert rewritten(found("predict-loop", 2, symbol, batches=1), f"for x, y in data:\n    {call}\n") is None


def test_a_decorated_function_is_not_decorated_again():
    source = "@tf.function\ndef train(x):\n    return x\n\nfor x in data:\n    y = train(x)\n"
    assert rewritten(found("eager-step", 6), source) is None


def test_a_function_moves_out_of_the_loop_that_calls_it():
    source = "for x in data:\n    @tf.function\n    def step(y):\n        return y + 1\n    z = step(x)\n"
    change = rewritten(found("function-recreated", 5, "step"), source)
    assert change is not None and change.after.startswith(
        "@tf.function\ndef step(y):\n    return y + 1\nfor x"
    )
    reads = source.replace("y + 1", "y + x")
    assert rewritten(found("function-recreated", 5, "step"), reads) is None


@pytest.mark.parametrize("use", ["print(losses[-10:])", "tf.stack(losses)", "json.dump(losses, f)"])
def test_a_list_that_is_needed_as_one_stays_a_list(use):
    source = f"losses = []\nfor x in data:\n    losses.append(f(x))\n{use}\n"
    assert rewritten(found("python-leak", 3, "losses"), source) is None
    assert rewritten(found("python-leak", 3, "losses"), source.replace(use, "print(len(losses))")) is not None


def test_a_statement_that_depends_on_the_iteration_stays_in_the_loop():
    source = "for lr in rates:\n    opt = Adam(lr)\n    rate = lr / 2\n    other = Adam(rate)\n"
    assert rewritten(found("optimizer-recreated", 2), source) is None
    assert rewritten(found("optimizer-recreated", 4), source) is None
    chain = "for x in data:\n    ds = f(y)\n    ds = ds.batch(2)\n    g(ds)\n"
    assert rewritten(found("dataset-recreated", 2), chain) is None


@pytest.mark.parametrize("cause", registry.causes())
@pytest.mark.parametrize("line", [0, 1, 2, 5, 99])
def test_odd_sources_do_not_raise(cause, line):
    for source in ("", "def broken(:\n", "x = 1\n\ny = (\n 2)\n", "try:\n    a()\nexcept E:\n    b()\n"):
        rewritten(found(cause, line, "f", argument="x"), source)
