"""Predicts small inputs without the dataset and callbacks that `Model.predict` makes at each call."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ..hooks.patch import Patch, hide_wrapper_frame
from ..safety.signal_handlers import let_through
from ..safety.weak_table import WeakTable
from .base import LiveFix, Refused
from .body import find_effect
from .graphs import TOLERANCE

_TRAINER = "keras.src.backend.tensorflow.trainer"
#: The largest input that predict makes one batch of, if it is not told another size.
_BATCH = 32
#: Timed calls of each way to predict.
_TIMED = 3
_WAYS = {"batch": "predict_on_batch", "function": "a tf.function of the model", "call": "a direct call"}

Way = Callable[[Any], Any]


class DirectPredict(LiveFix):
    kind = "predict"

    def __init__(self, is_library: Callable[[str], bool]) -> None:
        title = "predict small inputs directly, without a dataset for each call"
        super().__init__(title, "predict-loop", "", 0, "model.predict")
        self._is_library = is_library
        self._ways: WeakTable[Way | None] = WeakTable()
        """By model: the fastest way that gives the same results; None for one that is left alone."""
        self._patch: Patch | None = None
        self._trial = threading.Lock()

    def start(self) -> None:
        owner = getattr(sys.modules.get(_TRAINER), "TensorFlowTrainer", None)
        if owner is None:
            raise Refused("It is built for Keras 3, and this program uses another version.")
        self._patch = Patch(owner, "predict", self._wrap)

    def stop(self) -> None:
        if self._patch is not None:
            self._patch.off()
            self._patch = None
        self._ways.clear()

    def _wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def predict(model: Any, *args: Any, **kwds: Any) -> Any:
            try:
                if not self.is_armed or not _is_small(args, kwds):
                    return original(model, *args, **kwds)
                x = args[0] if args else kwds["x"]
                if model in self._ways:
                    return self._predict(original, model, x, args, kwds)
                if not self._trial.acquire(blocking=False):
                    return original(model, *args, **kwds)
                try:
                    return self._try(original, model, x, args, kwds)
                finally:
                    self._trial.release()
            except BaseException as error:
                hide_wrapper_frame(error)
                raise

        return predict

    def _predict(self, original: Callable[..., Any], model: Any, x: Any, args: Any, kwds: Any) -> Any:
        way = self._ways.get(model, None)
        if way is not None:
            try:
                return way(x)
            except Exception as error:
                let_through(error)
                self._ways[model] = None
                self.roll_back(f"It failed with {type(error).__name__}.")
        return original(model, *args, **kwds)

    def _try(self, original: Callable[..., Any], model: Any, x: Any, args: Any, kwds: Any) -> Any:
        """Predict as before, then in each other way; keep the fastest that gives the same."""
        try:
            self._check(model)
            before = _state(model)
        except Exception as error:
            let_through(error)
            self.refuse(str(error) if isinstance(error, Refused) else f"{type(error).__name__}.")
            return original(model, *args, **kwds)
        right = original(model, *args, **kwds)
        try:
            if not _equal(before, _state(model)):
                raise Refused("The model changes its state when it predicts.")
            name, way = _fastest(model, x, right)
        except Exception as error:
            let_through(error)
            self._ways[model] = None
            self.roll_back(
                str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"[:150]
            )
            return right
        self._ways[model] = way
        self.compared = True
        self.confirm(
            f"{_WAYS[name]} was the fastest; same results within {TOLERANCE:g}. No progress bar is printed."
        )
        return right

    def _check(self, model: Any) -> None:
        for name in ("call", "predict_step", "make_predict_function"):
            method = getattr(type(model), name, None)
            code = getattr(method, "__code__", None)
            if code is None or self._is_library(code.co_filename):
                continue
            if name != "call":
                raise Refused(f"The model has its own {name}.")
            if effect := find_effect(method, self._is_library):
                raise Refused(f"The model's call {effect}.")
        if any(getattr(layer, "stateful", False) for layer in getattr(model, "layers", ())):
            raise Refused("The model has a stateful layer.")


def _is_small(args: tuple[Any, ...], kwds: dict[str, Any]) -> bool:
    """Whether the call is for one batch of an array or a tensor, with no options that matter."""
    x = args[0] if args else kwds.get("x")
    if len(args) > 1 or not set(kwds) <= {"x", "verbose", "batch_size"}:
        return False
    shape = getattr(x, "shape", None)
    if type(x).__module__.partition(".")[0] not in ("numpy", "tensorflow") or not shape:
        return False
    size = kwds.get("batch_size") or _BATCH
    return type(size) is int and 0 < int(shape[0]) <= size


def _state(model: Any) -> list[Any]:
    return [variable.numpy() for variable in getattr(model, "non_trainable_variables", ())]


def _fastest(model: Any, x: Any, right: Any) -> tuple[str, Way]:
    tensorflow = sys.modules["tensorflow"]
    to_numpy = sys.modules["numpy"].array  # a copy: the program may write into what predict returns
    compiled = tensorflow.function(lambda x: model(x, training=False), reduce_retracing=True)
    convert, nest = tensorflow.convert_to_tensor, tensorflow.nest

    ways: dict[str, Way] = {
        "batch": model.predict_on_batch,
        "function": lambda x: nest.map_structure(to_numpy, compiled(convert(x))),
        "call": lambda x: nest.map_structure(to_numpy, model(x, training=False)),
    }
    times: dict[str, int] = {}
    for name, way in ways.items():
        try:
            if not _equal(nest.flatten(right), nest.flatten(way(x))):
                continue
            walls = []
            for _ in range(_TIMED):
                start = time.perf_counter_ns()
                way(x)
                walls.append(time.perf_counter_ns() - start)
            times[name] = min(walls)
        except Exception as error:
            let_through(error)
    if not times:
        raise Refused("No other way to predict gives the same results.")
    best = min(times, key=lambda name: times[name])
    return best, ways[best]


def _equal(one: list[Any], other: list[Any]) -> bool:
    numpy = sys.modules["numpy"]
    if len(one) != len(other):
        return False
    for a, b in zip(one, other, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind in "fc":
            if not numpy.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
                return False
        elif not numpy.array_equal(a, b):
            return False
    return True
