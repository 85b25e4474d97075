"""tfslowtop: why TensorFlow or NumPy code is slow, gets slower, or eats memory, live in a terminal."""

__version__ = "0.1.0"


class _NoStep:
    """What `with tfslowtop.step():` costs when nobody watches: nothing to speak of."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


_marker = _NoStep()  # the agent puts its own here while it watches


def step() -> _NoStep:
    """Marks one step of a program that may be watched: `with tfslowtop.step(): ...`."""
    return _marker
