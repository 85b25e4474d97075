"""Many Python objects kept alive: the median stays flat, but now and then the collector visits them all."""

import gc
from collections import deque
from types import SimpleNamespace

from tfslowtop.scenario import Fix, Fixes, Param, Params, Scenario

SCENARIO = Scenario(
    title="Pauses of the garbage collector",
    kind="pauses",
    claim="Garbage collection overhead slows a loop that keeps creating objects.",
    source="002, section 1 (prose)",
    mechanism=(
        "A full collection visits every container that is alive, garbage or not, and stops the program "
        "meanwhile. "
        "With hundreds of thousands of them kept, the typical iteration is as fast as ever, but about one "
        "in twenty stands still for many times its length. "
        "gc.freeze() takes what is alive now out of the collector's sight, and the long pauses go."
    ),
    example="None: prose only.",
    params=(
        Param("kept", 300000, "records kept from the start (an index, a vocabulary, a cache)", minimum=1),
        Param("new", 5000, "records made per iteration; those of the last 20 iterations are kept", minimum=1),
    ),
    fixes=(
        Fix("freeze", "call gc.freeze() once the long-lived objects are there"),
        Fix("disable", "switch the collector off (garbage in cycles then stays for ever)", half=True),
    ),
    cure=("freeze",),
)


def setup(params: Params) -> SimpleNamespace:
    return SimpleNamespace(
        kept=[[k, 0.5] for k in range(params.kept)],
        new=params.new,
        recent=deque(maxlen=20),
    )


def iteration(s: SimpleNamespace, fixes: Fixes, i: int) -> float:
    if fixes.freeze:
        freeze_once()
    else:
        unfreeze()
    if fixes.disable:
        gc.disable()
    else:
        gc.enable()
    records = [[k, k * 0.5] for k in range(i, i + s.new)]
    s.recent.append(records)
    return sum(half for _, half in records)


frozen = False


def freeze_once() -> None:
    global frozen
    if not frozen:
        gc.freeze()
        frozen = True


def unfreeze() -> None:
    global frozen
    if frozen:
        gc.unfreeze()
        frozen = False


def gauges(s: SimpleNamespace) -> dict[str, float]:
    return {"full collections": gc.get_stats()[2]["collections"]}
