"""What stays the same about a cause: how it comes about, the remedy, and the scenario that shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    remedy: str
    before: str
    after: str
    mechanism: str
    scenario: str | None = None

    @property
    def code(self) -> str:
        return f"# before\n{self.before}\n# after\n{self.after}" if self.before else self.after


TEXTS: dict[str, Text] = {
    "retrace-python-value": Text(
        "Pass {name} as tf.constant({name}), or keep it in a tf.Variable.",
        "step(x, {name})",
        "step(x, tf.constant({name}, tf.float32))",
        "A Python number, string or flag is part of the key under which a tf.function keeps its traces. A value "
        "that was not seen before makes a new graph; a tensor of the same shape and dtype does not.",
        "retrace_python_number",
    ),
    "retrace-shape": Text(
        "Give {function} an input_signature with None in the dimension that changes, or reduce_retracing=True.",
        "@tf.function",
        "@tf.function(reduce_retracing=True)",
        "The shape of each tensor is part of the key under which a tf.function keeps its traces. Every new "
        "shape makes a new graph, unless the signature leaves that dimension open.",
        "new_shapes",
    ),
    "retrace-dtype": Text(
        "Convert {name} to one dtype before the call.",
        "step({name})",
        "step(tf.cast({name}, tf.float32))",
        "The dtype of each tensor is part of the key under which a tf.function keeps its traces.",
        "new_shapes",
    ),
    "retrace-structure": Text(
        "Pass one stacked tensor as {name}, or a container that keeps its length and keys.",
        "step(list_of_tensors)",
        "step(tf.stack(list_of_tensors))",
        "The structure of an argument, its length and keys, is part of the key under which a tf.function keeps "
        "its traces, and the graph is unrolled over its elements.",
        "list_arguments",
    ),
    "retrace-object": Text(
        "Create {name} once, before the loop, or pass its values as tensors.",
        "for ...:\n    step(Config(), x)",
        "config = Config()\nfor ...:\n    step(config, x)",
        "A Python object is recognised by its identity: each new one makes a new trace, even if it is equal.",
        "list_arguments",
    ),
    "function-recreated": Text(
        "Create the tf.function once, outside the loop.",
        "for ...:\n    f = tf.function(...)\n    f(x)",
        "f = tf.function(...)\nfor ...:\n    f(x)",
        "Traces belong to the function object. One that is created anew has none, so its first call traces.",
        "function_in_loop",
    ),
    "trace-slow": Text(
        "Loop with tf.range, tf.scan or tf.while_loop, so that the body is in the graph once.",
        "for i in range(n):",
        "for i in tf.range(n):",
        "A Python loop inside a tf.function is run while tracing: its body is added to the graph once per turn.",
        "first_call",
    ),
    "xla-recompile": Text(
        "Pad the input to a few sizes; XLA compiles one program per shape.",
        "score(x)",
        "score(tf.pad(x, [[0, size - n], [0, 0]]))",
        "XLA programs have fixed shapes: jit_compile=True compiles again for each new one.",
        "variable_length_batches",
    ),
    "graph-growth": Text(
        "Build the ops once before the loop and feed what changes by a placeholder; graph.finalize() proves it.",
        "for ...:\n    sess.run(tf.assign(v, value))",
        "value_in = tf.placeholder(...)\nassign = tf.assign(v, value_in)\nfor ...:\n    sess.run(assign, {value_in: value})",
        "In graph mode each call of a tf function adds ops to the graph and nothing removes them. Each new op "
        "has to be prepared by the Session before it runs, which takes longer the larger the graph is.",
        "graph_growth",
    ),
    "session-per-step": Text(
        "Open one Session before the loop and use it for every run.",
        "for ...:\n    with tf.Session() as sess:\n        sess.run(...)",
        "with tf.Session() as sess:\n    for ...:\n        sess.run(...)",
        "A new Session knows nothing of the graph: its first run hands over and optimises all of it again.",
        "open_sessions",
    ),
    "session-leak": Text(
        "Open one Session before the loop, or close each one: `with tf.Session() as sess:`.",
        "sess = tf.Session()",
        "with tf.Session() as sess:",
        "A Session keeps its copy of the graph, its threads and its memory until close() is called.",
        "open_sessions",
    ),
    "model-recreated": Text(
        "Build, compile or load the model once, before the loop.",
        "for ...:\n    model = build()\n    model(x)",
        "model = build()\nfor ...:\n    model(x)",
        "A new model has new variables and no traced functions: all of it is made again at each turn, and the "
        "old ones stay in memory until the collector finds them.",
        "model_in_loop",
    ),
    "optimizer-recreated": Text(
        "Create the optimizer once, before the loop.",
        "for ...:\n    opt = Adam()\n    opt.apply_gradients(...)",
        "opt = Adam()\nfor ...:\n    opt.apply_gradients(...)",
        "A new optimizer creates a slot variable or two per weight at its first step, and has forgotten its "
        "moments.",
        "optimizer_in_loop",
    ),
    "variable-recreated": Text(
        "Create the variable once, before the loop, and assign to it.",
        "for ...:\n    v = tf.Variable(x)",
        "v = tf.Variable(x)\nfor ...:\n    v.assign(x)",
        "A variable is a resource: creating one allocates it, initialises it and registers it.",
        "assign_cache",
    ),
    "dataset-recreated": Text(
        "Create the dataset and its iterator once, before the loop; .repeat() makes it endless.",
        "for ...:\n    batch = next(iter(dataset))",
        "batches = iter(dataset.repeat())\nfor ...:\n    batch = next(batches)",
        "Each iterator starts the pipeline from nothing: it fills its shuffle and prefetch buffers again and "
        "traces the functions of new datasets again.",
        "prefetch",
    ),
    "eager-step": Text(
        "Put the step into one function and decorate it with @tf.function.",
        "def train_step(x, y):",
        "@tf.function\ndef train_step(x, y):",
        "Each eager op is dispatched by Python on its own, which takes longer than a small op itself. A graph "
        "runs all of them with one call.",
        "eager_train_step",
    ),
    "per-sample": Text(
        "Work on the whole batch at once.",
        "for row in x:\n    y.append(f(row))",
        "y = f(x)  # or tf.vectorized_map(f, x)",
        "Each call has a fixed price, whatever its size: a batch pays it once, a loop over items pays it for "
        "each of them.",
        "batching",
    ),
    "predict-loop": Text(
        "Call the model itself, model(x, training=False), or model.predict_on_batch(x); or predict everything in one call.",
        "y = model.predict(x)",
        "y = model(x, training=False).numpy()",
        "predict, evaluate and fit build a dataset, an iterator and callbacks at each call. That takes tens of "
        "milliseconds, whatever the size of the input.",
        "predict_in_loop",
    ),
    "python-op": Text(
        "Write {function} with TensorFlow ops, or do it before the step.",
        "y = tf.numpy_function({function}, [x], tf.float32)",
        "y = ...  # the same with tf. ops",
        "numpy_function and py_function leave the graph for the Python interpreter: one thread, no "
        "optimisation, and a copy each way.",
        "apply_along_axis",
    ),
    "input-bound": Text(
        "Map with num_parallel_calls=tf.data.AUTOTUNE, and end the pipeline with .prefetch(tf.data.AUTOTUNE).",
        "ds = ds.map(f).batch(n)",
        "ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE).batch(n).prefetch(tf.data.AUTOTUNE)",
        "The next batch is made only when the step asks for it, so that preparing and computing take turns "
        "instead of running side by side.",
        "serial_map",
    ),
    "host-sync": Text(
        "Keep results as tensors, and pull them once after the loop or every hundred steps.",
        "values.append(y.numpy())",
        "values.append(y)  # after the loop: np.array(values)",
        "Pulling a result waits until everything before it has been computed, and copies it.",
        "numpy_sync",
    ),
    "host-copy": Text(
        "Make it a tensor once, before the loop, or let tf.data with prefetch bring the batches.",
        "for ...:\n    x = tf.constant(array)",
        "x = tf.constant(array)\nfor ...:\n    ...",
        "An array has to be copied into TensorFlow's own memory, all of it, before an op can use it.",
        "host_copies",
    ),
    "growing-input": Text(
        "Keep a running result, or write into a buffer of fixed size, instead of processing all that came before.",
        "seen = tf.concat([seen, x], 0)\nmean = tf.reduce_mean(seen, 0)",
        "total += tf.reduce_sum(x, 0); count += len(x)\nmean = total / count",
        "What grows by one piece per step is copied and processed as a whole at every step: the work of a step "
        "grows with the number of steps before it.",
        "concat_history",
    ),
    "callback-heavy": Text(
        "Do it every hundred batches or at the end of the epoch.",
        "def on_train_batch_end(self, batch, logs=None):\n    save()",
        "def on_train_batch_end(self, batch, logs=None):\n    if batch % 100 == 0:\n        save()",
        "A callback, a checkpoint or a summary that is written at each step keeps the step waiting.",
    ),
    "tensor-leak": Text(
        "Keep the number instead of the tensor, float(loss), or only the newest entries.",
        "history.append(loss)",
        "history.append(float(loss))",
        "A tensor lives as long as anything refers to it. A list, a dict or a closure that grows keeps all of "
        "them, with everything that they hold.",
        "kept_tensors",
    ),
    "python-leak": Text(
        "Keep only what is needed: collections.deque(maxlen=...), or write it to a file.",
        "log.append(entry)",
        "log = collections.deque(maxlen=1000)",
        "What a list, a dict or a cache holds stays in memory, and the collector goes through all of it again "
        "and again.",
        "append_history",
    ),
    "kernel-leak": Text(
        "Draw with tf.random.Generator.from_seed(...), made once before the loop, or inside the tf.function.",
        "tf.random.set_seed(1)\nfor ...:\n    x = tf.random.normal(shape)",
        "generator = tf.random.Generator.from_seed(1)\nfor ...:\n    x = generator.normal(shape)",
        "Under a global seed each eager random op gets a seed of its own, as an attribute. TensorFlow keeps a kernel "
        "for every set of attributes that it has met, so each draw leaves one that is never used again.",
        "seeded_random",
    ),
    "gc-pause": Text(
        "Remove gc.collect() from the loop; after building the program, gc.freeze() takes old objects out of the collector's way.",
        "for ...:\n    gc.collect()",
        "gc.collect(); gc.freeze()\nfor ...:",
        "A full collection goes through every object of the program, TensorFlow's some 270,000 among them.",
        "gc_pauses",
    ),
    "cpu-contention": Text(
        "Stop the other processes, or move the program to a quiet machine.", "", "",
        "The program is ready to run and has to wait for a core that others use.",
    ),
    "cpu-throttled": Text(
        "Raise the container's CPU limit, or set tf.config.threading to as many threads as it allows.",
        "", "tf.config.threading.set_intra_op_parallelism_threads(n)",
        "A container has a quota of CPU time per 100 ms; when it is used up, all its threads stand still.",
    ),
    "memory-pressure": Text(
        "Give it more memory, or make batches, caches and shuffle buffers smaller.", "", "ds.shuffle(1000)",
        "Memory is full: pages are written to disk and read again, or allocations wait until others are freed.",
    ),
    "gpu-throttled": Text(
        "Improve the cooling or raise the power limit.", "", "nvidia-smi -q -d PERFORMANCE",
        "The driver lowers the GPU's clock to keep its temperature or power within limits.",
    ),
    "gpu-contention": Text(
        "Choose another GPU, or wait for the other process to end.", "", "CUDA_VISIBLE_DEVICES=1 python train.py",
        "Two processes take turns on one GPU.",
    ),
    "gpu-memory-full": Text(
        "Make the batch smaller, or end the other process that holds GPU memory.", "", "batch_size //= 2",
        "When device memory is full, allocations fail or wait, and fast algorithms that need room are not used.",
    ),
}  # fmt: skip

#: What the same cause is in a program that has NumPy alone.
WITH_NUMPY: dict[str, Text] = {
    "growing-input": Text(
        "Collect the pieces in a list and join them once, after the loop; or make the array before it, as long as it "
        "will be, and write into it.",
        "seen = np.concatenate([seen, x])",
        "pieces.append(x)\n# after the loop\nseen = np.concatenate(pieces)",
        "An array cannot be made longer: all of it is copied to a new one each time, so that the work of a turn grows "
        "with the number of turns before it.",
        "append_history",
    ),
    "python-op": Text(
        "Write it for whole arrays, with axis= where NumPy's function has one.",
        "y = np.apply_along_axis(f, 1, x)",
        "y = x.mean(axis=1)  # f for all rows at once",
        "np.apply_along_axis and np.vectorize are loops in Python: each row or item costs a call of the function, and "
        "of NumPy's within it.",
        "apply_along_axis",
    ),
}
#: A copy that each run of a Session begins with.
FED_WHOLE = Text(
    "Put it into a tf.Variable once (or into tf.data), and feed the numbers of the rows that a run needs.",
    "batch = tf.gather(data_placeholder, rows)\nfor ...:\n    sess.run(step, {data_placeholder: data, rows: r})",
    "data_variable = tf.Variable(data, trainable=False)\nbatch = tf.gather(data_variable, rows)\nfor ...:\n"
    "    sess.run(step, {rows: r})",
    "TensorFlow copies an array that is fed, at each run, before the first op begins; only one whose memory happens to "
    "begin at a multiple of 64 bytes is used in place.",
    "host_copies",
)
#: All weights of a model as arrays, at each step.
WEIGHTS = Text(
    "Let TensorFlow move them: assign each variable from its twin, in a tf.function.",
    "for old, new in zip(target.get_weights(), online.get_weights()):\n    moved.append(tau * new + (1 - tau) * old)\n"
    "target.set_weights(moved)",
    "@tf.function\ndef follow():\n    for old, new in zip(target.variables, online.variables):\n"
    "        old.assign(tau * new + (1 - tau) * old)",
    "get_weights reads each variable by an op of its own and copies it into an array, and set_weights copies each one back.",
    "host_copies",
)
#: Eager ops in functions that would be graphs.
SWITCHED = Text(
    "Take tf.config.run_functions_eagerly(True) out of the program: it is on, so every tf.function runs op by op.",
    "tf.config.run_functions_eagerly(True)",
    "# left out: functions are traced once and run as graphs",
    "tf.config.run_functions_eagerly(True) is for debugging: a tf.function is then called as plain Python, and each of its "
    "ops is dispatched on its own, at 10 to 60 µs each.",
    "eager_train_step",
)
