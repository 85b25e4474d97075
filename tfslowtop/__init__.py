"""tfslowtop: why TensorFlow or NumPy code is slow, gets slower, or eats memory, live in a terminal."""

__version__ = "0.2.0"


class _NoStep:
    """What `with tfslowtop.step():` costs when nobody watches: less than a tenth of a microsecond.

    `with` binds a method at every entry and exit, and `*args` is one more tuple: neither is needed here.
    """

    __slots__ = ()

    __enter__ = bool

    @staticmethod
    def __exit__(kind: object, error: object, traceback: object) -> None:
        pass


_marker = _NoStep()  # the agent puts its own here while it watches


def step() -> _NoStep:
    """Marks one step of a program that may be watched: `with tfslowtop.step(): ...`."""
    return _marker
