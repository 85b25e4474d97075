"""Show in a terminal why TensorFlow or NumPy code is slow, slows down or leaks memory, while it runs.

A program that may be watched needs only `step` from here. The command line is in `tfslowtop.commands`.
"""

__version__ = "0.2.0"


class _NoStep:
    """The marker while nobody watches: `with tfslowtop.step():` then takes about a tenth of a microsecond.

    `with` binds a method at every entry and exit, and `*args` is one more tuple: neither is needed here.
    """

    __slots__ = ()

    __enter__ = bool

    @staticmethod
    def __exit__(kind: object, error: object, traceback: object) -> None:
        pass


_marker = _NoStep()  # the agent puts its own here while it watches


def step() -> _NoStep:
    """Mark one step of a program that may be watched: `with tfslowtop.step(): ...`."""
    return _marker
