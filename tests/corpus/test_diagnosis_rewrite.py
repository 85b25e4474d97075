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
    "cartpole_scores": ("", {}, "q = model(state[None], training=False).numpy()"),
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
    ("session-leak", "", "s = tf.InteractiveSession()\n", 1, "with tf.Session() as s:\n    ..."),
    ("eager-step", "", "def train(x):\n    y = x + 1\n    return y\n", 2, "@tf.function\ndef train(x):"),
    ("eager-step", "", "def train(x):\n    return x\n\ndef main():\n    for x in data:\n        y = train(x)\n", 6,
     "@tf.function\ndef train(x):"),
    ("predict-loop", "", "for s in states:\n    model.fit(s, t, epochs=1)\n", 2, "model.train_on_batch(s, t)"),
    ("retrace-structure", "f", "def f(a, b): pass\nf(1, parts)\n", 2, "f(1, tf.stack(parts))"),
    ("retrace-python-value", "f", "@tf.function\ndef f(é, n): pass\nf('ü', n=i * 2)\n", 3, "f('ü', n=tf.constant(i * 2))"),
]  # fmt: skip


@pytest.mark.parametrize(("cause", "symbol", "source", "line", "wanted"), CHANGES)
def test_changes(cause, symbol, source, line, wanted):
    argument = {"retrace-structure": "b", "retrace-python-value": "n"}.get(cause, "")
    change = rewritten(found(cause, line, symbol, argument=argument, entry_bytes=4.0), source)
    assert change is not None and change.after == wanted
    ast.parse(change.after.replace("def train(x):", "def train(x): pass"))


def test_a_decorated_function_is_not_decorated_again():
    source = "@tf.function\ndef train(x):\n    return x\n\nfor x in data:\n    y = train(x)\n"
    assert rewritten(found("eager-step", 6), source) is None


def test_a_statement_that_depends_on_the_iteration_stays_in_the_loop():
    source = "for lr in rates:\n    opt = Adam(lr)\n    rate = lr / 2\n    other = Adam(rate)\n"
    assert rewritten(found("optimizer-recreated", 2), source) is None
    assert rewritten(found("optimizer-recreated", 4), source) is None


@pytest.mark.parametrize("cause", registry.causes())
@pytest.mark.parametrize("line", [0, 1, 2, 5, 99])
def test_odd_sources_do_not_raise(cause, line):
    for source in ("", "def broken(:\n", "x = 1\n\ny = (\n 2)\n", "try:\n    a()\nexcept E:\n    b()\n"):
        rewritten(found(cause, line, "f", argument="x"), source)
