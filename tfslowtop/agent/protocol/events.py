"""The events that a watched process sends and the commands that it obeys.

They are frozen, slotted dataclasses, the same on the wire, between threads and in a recording. All times are
nanoseconds of `time.perf_counter_ns`, the machine-wide monotonic clock, so that the watcher's own readings
line up with the target's.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .names import FixStatus, GaugeName, PhaseName, StreamKind, TallyKind, TraceReason

#: One sample: start, wall time and CPU time of the whole process (0 where it was not read), in nanoseconds.
SAMPLE = struct.Struct("<qqq")


@dataclass(frozen=True, slots=True)
class Hello:
    """The first frame of a connection."""

    protocol: int
    token: str
    pid: int
    python: str


@dataclass(frozen=True, slots=True)
class About:
    """What the target runs on; sent once TensorFlow has been imported."""

    tensorflow: str
    devices: tuple[str, ...]
    shown: tuple[str, ...] = ()
    """CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, as `name=value`, where they are set."""


@dataclass(frozen=True, slots=True)
class Phase:
    """What the target is doing."""

    name: PhaseName
    detail: str
    at: int


@dataclass(frozen=True, slots=True)
class Stream:
    """Something that repeats, and where its code is."""

    id: int
    name: str
    kind: StreamKind
    file: str
    line: int
    library: bool = False
    """Whether the code belongs to a library and not to the user."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Consecutive iterations of a stream, packed as `SAMPLE` records; `first` is the number of the first."""

    stream: int
    first: int
    packed: bytes

    def __len__(self) -> int:
        return len(self.packed) // SAMPLE.size


@dataclass(frozen=True, slots=True)
class Folded:
    """Iterations that a slow watcher gets as a summary.

    `sketch` holds wall times at evenly spaced ranks, smallest first, so that quantiles survive.
    """

    stream: int
    first: int
    count: int
    start: int
    end: int
    wall_min: int
    wall_max: int
    wall_sum: int
    cpu_sum: int
    sketch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the cache missed, for one argument. `before` and `after` describe its values for people."""

    argument: str
    cause: TraceReason
    before: str
    after: str
    before_class: str = ""
    """The class of a Python value or object, before and after; empty for a tensor."""
    after_class: str = ""
    before_dtype: str = ""
    """The dtype of a tensor, before and after."""
    after_dtype: str = ""
    batch_sizes: tuple[int, ...] = ()
    """Of a first trace: the first dimension of each tensor argument, where that is known."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One trace of a tf.function. `number` counts the traces of that function from 1."""

    function: str
    file: str
    line: int
    number: int
    at: int
    wall: int
    reasons: tuple[Reason, ...]
    user_file: str = ""
    """The line of the user's code that made the call; the function itself may be a library's."""
    user_line: int = 0
    nested: bool = False
    """Whether it was traced while another function was being traced, so that its time is part of that trace.
    """
    jit: bool = False
    library: bool = False
    """Whether the function belongs to a library and not to the user."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """A value read about ten times a second."""

    name: GaugeName
    at: int
    value: float


@dataclass(frozen=True, slots=True)
class Tally:
    """How often one line of the user's code did something, in total: created a model, pulled a result."""

    what: TallyKind
    symbol: str
    file: str
    line: int
    count: int
    wall: int
    size: int
    """Bytes, for what moves or keeps data."""
    at: int
    library: bool = False
    """Whether the line belongs to a library and not to the user."""
    package: str = ""
    """Of TALLY_WHERE: whose code ran. The symbol is the function that the user's line called."""
    module: str = ""
    """Of TALLY_WHERE: the module of that function."""
    function_line: int = 0
    """Of TALLY_WHERE: the first line of the user's function; 0 at the top level of a file."""
    array: str = ""
    """Of TALLY_WHERE: the array that the line copies into a longer one."""
    container: str = ""
    """Of TALLY_KEPT_…: the type of the container, as it is shown. The symbol is the container's name."""
    bounded: bool = False
    """Of TALLY_KEPT_…: whether the container has a maximum length."""
    inside: str = ""
    """Of TALLY_WHERE: the kind of the timed call around the line, or what is being created."""
    native: bool = False
    """Of TALLY_WHERE: whether compiled code ran there that had released the interpreter."""

    @property
    def key(self) -> tuple[str | int, ...]:
        """What it is a total of: tallies with the same key replace each other."""
        where = (self.package, self.module, self.function_line, self.array, self.inside, self.native)
        return (self.what, self.symbol, self.file, self.line, *where, self.container, self.bounded)


@dataclass(frozen=True, slots=True)
class Reported:
    """All that the main thread did before `until` is reported, now or in the samples that follow.

    A call in progress is reported when it ends: `until` is when it began.
    """

    until: int


@dataclass(frozen=True, slots=True)
class StepChosen:
    """From now on this stream is the step; `why` says which rule chose it, or that the user did."""

    stream: int
    why: str
    at: int
    trains: bool = False
    """Whether the step trains a model."""


@dataclass(frozen=True, slots=True)
class Toggled:
    """From this iteration on, exactly these fixes are active."""

    iteration: int
    fixes: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class FixOffered:
    """A fix that can be switched on inside the running program, and the place that it is about."""

    id: str
    title: str
    cause: str
    file: str
    line: int
    symbol: str


@dataclass(frozen=True, slots=True)
class FixAnswered:
    """What became of a request to switch a fix, and a sentence about it for people, or an empty one."""

    id: str
    status: FixStatus
    sentence: str
    at: int
    compared: bool = False
    """Whether results with the fix were compared with results without it, and were the same."""


@dataclass(frozen=True, slots=True)
class Block:
    """A/B test: from this iteration on, `arm` runs (0 is A, 1 is B, -1 ends the test) with these fixes."""

    iteration: int
    arm: int
    fixes: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The watched code raised. `file` and `line` are the innermost line of the user's own file."""

    iteration: int
    file: str
    line: int
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Samples that were overwritten before they could be sent or folded, in total so far."""

    stream: int
    samples: int


@dataclass(frozen=True, slots=True)
class Note:
    """A message for the screen: a hook that found nothing to patch, an error of the agent's own."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """What the target wrote to its standard output or error."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The target has ended. `code` is its exit code, negative for a signal; `how` is a sentence."""

    code: int
    how: str
    at: int


@dataclass(frozen=True, slots=True)
class SetFixes:
    """Command: activate exactly these fixes from the next iteration (in a script, call) on."""

    fixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetParams:
    """Command: set up again with these parameters, written as `name=value`."""

    params: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Command: alternate two sets of fixes in shuffled blocks, each with its own state."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    block_seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Command: finish the iteration, then end."""


@dataclass(frozen=True, slots=True)
class ChooseStep:
    """Command: make this stream the step; -1 for the automatic choice."""

    stream: int


@dataclass(frozen=True, slots=True)
class Detach:
    """Command: remove the hooks and leave the program running."""


Event = (
    Hello
    | About
    | Phase
    | Stream
    | Samples
    | Folded
    | Trace
    | Gauge
    | Tally
    | Reported
    | StepChosen
    | Toggled
    | FixOffered
    | FixAnswered
    | Block
    | Failed
    | Lost
    | Note
    | Output
    | Ended
)
Command = SetFixes | SetParams | Compare | Stop | ChooseStep | Detach
Message = Event | Command

COMMANDS = (SetFixes, SetParams, Compare, Stop, ChooseStep, Detach)
