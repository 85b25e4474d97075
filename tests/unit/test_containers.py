"""What a program keeps: found by its own names, left as it was, without a line of its code being run."""

from __future__ import annotations

import functools
import gc
import linecache
import sys
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from tfslowtop.agent.code import containers as names
from tfslowtop.agent.code.containers import Container, ContainerScan, own_modules, variables, weigh
from tfslowtop.agent.code.fill_site import find_fill_site
from tfslowtop.agent.code.ownership import Ownership
from tfslowtop.agent.hooks.growing_containers import GrowingContainersHook
from tfslowtop.agent.tallies import Tallies


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """What is found must not depend on how busy the machine is."""
    monkeypatch.setattr(names, "_BUDGET", 10**12)


def look(frame) -> dict[str, Container]:
    ownership = Ownership(__file__)
    modules = own_modules(ownership)
    found = ContainerScan(ownership)
    found.around(frame, modules)
    return {kept.name: kept for kept in found.found}


class Keeper:
    shelf: list[int] = []

    def __init__(self):
        self.log = [{"n": 1}]
        self.by_name = {"loss": [0.1, 0.2]}

    def __getattribute__(self, name):
        raise AssertionError("the program's own code ran")


class Loud(list):
    def __len__(self):
        raise AssertionError("the program's own code ran")

    __iter__ = __getitem__ = __bool__ = __eq__ = __hash__ = __len__


def a_program() -> dict[str, Container]:
    # Without asserts of its own: pytest's use locals(), and such a function is left alone.
    def outer():
        inside = []

        def keep(value, cache={}):  # noqa: B006
            inside.append(value)
            cache[value] = value

        return keep

    keep = outer()
    for i in range(40):
        keep(i)
    history, recent, groups = [1.0] * 7, deque([1, 2], maxlen=2), defaultdict(list, a=[1, 2, 3])
    ordered, keeper, loud = OrderedDict(x=1), Keeper(), Loud([1, 2, 3])
    found = look(sys._getframe())
    del history, recent, groups, ordered, keeper, loud
    return found


def test_containers_are_found_by_the_names_that_the_program_gives_them():
    lengths = {name: kept.length for name, kept in a_program().items()}
    assert lengths["inside"] == lengths["cache"] == 40
    assert (lengths["history"], lengths["recent"], lengths["groups['a']"]) == (7, 2, 3)
    assert (lengths["keeper.log"], lengths["keeper.by_name['loss']"], lengths["loud"]) == (1, 2, 3)
    assert lengths["ordered"] == 1 and "Keeper.shelf" in lengths


def test_every_frame_on_the_way_out_is_looked_into():
    ownership = Ownership(__file__)
    lengths = []

    def around(frame):
        found = ContainerScan(ownership)
        found.around(frame)
        lengths.extend(kept.length for kept in found.found if kept.name == "mine")

    def down(depth):
        mine = [0] * depth
        return down(depth - 1) if depth > 1 else around(sys._getframe()) or mine

    down(30)
    assert sorted(lengths) == list(range(1, 31))


@functools.cache
def cached(x):
    return x


def test_a_cache_names_the_function_that_it_belongs_to():
    cached(1)
    found = look(sys._getframe())
    assert found["cached"].length >= 1 and found["cached"].place[0] == __file__
    assert found["cached_method"].place == (__file__, Slotted.__init__.__code__.co_firstlineno)


class Thing:
    pass


def dropped_after_a_look() -> tuple[int, object]:
    thing = Thing()
    weak = weakref.ref(thing)
    holder = [thing]
    length = look(sys._getframe())["holder"].length
    del thing
    holder.clear()
    return length, weak()


def test_nothing_that_was_looked_at_stays_alive():
    gc.disable()
    try:
        assert dropped_after_a_look() == (1, None)
    finally:
        gc.enable()


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="locals() is a snapshot of its own there")
def test_a_dict_that_locals_has_given_out_is_left_alone():
    def uses_locals():
        before = locals()
        later = 1
        variables(sys._getframe())
        return before, later

    assert "later" not in uses_locals()[0]


def test_a_tensor_is_seen_inside_what_is_kept():
    EagerTensor = type("EagerTensor", (), {})  # noqa: N806
    assert weigh({"loss": (1, EagerTensor())})[1] and not weigh({"loss": (1, 2.0)})[1]
    assert weigh([0] * 1000)[0] > 10_000


SOURCE = """
losses, seen = [], {}
losses.append(0)
def note(x):
    seen[x] = x
class A:
    def step(self):
        for i in range(3):
            self.log["loss"].append(i)
for batch in data:
    losses.append(f(batch))
    total += 1
    rows += [batch]
"""


@pytest.mark.parametrize(
    ("name", "line"), [("losses", 11), ("seen", 5), ("a.log['loss']", 9), ("rows", 13), ("nothing", 0)]
)
def test_the_line_that_fills_it(name, line):
    linecache.cache["<fills>"] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), "<fills>")
    assert find_fill_site(["<fills>"], name, {("<fills>", 10)})[1] == line


def test_what_only_a_library_has_a_name_for_is_looked_at_when_it_is_lent():
    held = [Keeper()]
    ownership = Ownership(__file__)
    found = ContainerScan(ownership)
    found.around(None, (), {"Keeper": held[0]})
    assert {kept.name for kept in found.found} >= {"Keeper.log", "Keeper.by_name"}


class Slotted:
    __slots__ = ("log", "unset")

    def __init__(self) -> None:
        self.log = [1] * 50


cached_method = functools.cache(Slotted().__init__)


class Named(NamedTuple):
    rows: list[int]


def collecting() -> Iterator[int]:
    seen: list[int] = []
    while True:
        seen.append(1)
        yield len(seen)


def everywhere() -> dict[str, int]:
    slotted, named, pair = Slotted(), Named([1] * 40), (1, [1] * 30)
    space, later, generator = SimpleNamespace(kept=[1] * 20), functools.partial(print, [1] * 10), collecting()
    for _ in range(60):
        next(generator)
    found = look(sys._getframe())
    del slotted, named, pair, space, later
    return {name: kept.length for name, kept in found.items()} | {"next": next(generator)}


def test_containers_are_found_wherever_the_program_has_them():
    lengths = everywhere()
    assert lengths["slotted.log"] == 50 and lengths["named.rows"] == 40 and lengths["pair[1]"] == 30
    assert lengths["space.kept"] == 20 and lengths["later"] == 10 and lengths["seen"] == 60
    assert lengths["next"] == 61, "and goes on as if nothing had been"


def many() -> dict[str, Container]:
    by_user = defaultdict(list, {user: [1.0] * 3 for user in range(100)})
    agents = [Slotted() for _ in range(200)]
    windows = {sensor: deque([1], maxlen=9) for sensor in range(40)}
    loud = Loud(Loud([1]) for _ in range(50))
    found = look(sys._getframe())
    del by_user, agents, windows, loud
    return found


def test_what_the_entries_of_a_long_container_keep_is_counted_together():
    found = many()
    assert found["by_user[...]"].length == 300 and found["by_user[...]"].kind == "list for each of 100"
    assert found["agents[...].log"].length == 200 * 50
    assert found["windows[...]"].kind == "deque(9)", "it has a bound"
    assert found["loud[...]"].length == 50


def test_a_closure_weighs_what_it_keeps():
    big = bytes(100_000)
    size, tensor = weigh(lambda: big)
    assert size > 100_000 and not tensor
    assert weigh(functools.partial(print, big))[0] > 100_000
    assert weigh(lambda big=big: big)[0] > 100_000 and weigh(lambda *, big=big: big)[0] > 100_000


def test_a_look_that_was_cut_short_forgets_nothing(monkeypatch):
    ownership = Ownership(__file__)
    told = []
    tracker = SimpleNamespace(loops=[])
    tallies = SimpleNamespace(put=lambda what, *rest: told.append((what, rest[3])))
    hook = GrowingContainersHook(
        SimpleNamespace(ownership=ownership, tracker=tracker, tallies=tallies, hooked=True)
    )
    history = []

    def judged(budget: int) -> bool:
        monkeypatch.setattr(names, "_BUDGET", budget)
        found = ContainerScan(ownership)
        found.around(None, held={"history": history})
        hook._report_growth(found)
        return found.whole

    assert judged(10**12)
    history += range(20)
    assert not judged(-1) and told == []
    assert judged(10**12) and told == [("kept-object", 20)]


def test_a_part_of_an_array_keeps_all_of_it():
    found = {}
    for name, parts in {
        "own": [(n, np.zeros(10_000)[:4]) for n in range(50)],
        "shared": list(np.zeros((50, 4))),
    }.items():
        taken = ContainerScan(Ownership(__file__))
        taken._names({name: parts})
        found[name] = taken.found[0].bytes
    assert found["own"] > 80_000 and found["shared"] < 1_000


def test_a_tape_keeps_what_cannot_be_weighed():
    class GradientTape:
        pass

    taken = ContainerScan(Ownership(__file__))
    taken._names({"entries": [{"step": n, "tape": GradientTape()} for n in range(40)], "log": [1.0] * 40})
    found = {kept.name: (kept.bytes, kept.tensor) for kept in taken.found}
    assert (found["entries"], found["log"]) == ((0, True), (24, False))


def test_more_entries_of_the_same_length_are_told_of_once():
    told = []
    tallies = SimpleNamespace(put=lambda what, of, *rest: told.append((of.symbol, of.container, rest[2])))
    hook = GrowingContainersHook(
        SimpleNamespace(
            ownership=Ownership(__file__), tracker=SimpleNamespace(loops=[]), tallies=tallies, hooked=True
        )
    )
    rows = [[1.0, 2.0] for _ in range(40)]

    def judge():
        found = ContainerScan(hook.context.ownership)
        found.around(None, held={"rows": rows})
        hook._report_growth(found)

    judge()
    rows += [[1.0, 2.0] for _ in range(40)]
    judge()
    assert told == [("rows", "list", 40)]
    for row in rows:
        row += [3.0, 4.0]
    told.clear()
    judge()
    assert sorted(told) == [("rows", "list", 40), ("rows[...]", "list for each of 80", 160)]


def test_a_collection_in_the_middle_of_a_look_changes_nothing():
    """Where many small things are made the collector runs, then others' code, then other threads."""
    made = iter(range(10_000))

    def busy(phase, info):
        number = next(made)
        sys.modules[f"_made_while_looking_{number}"] = sys
        tallies.at("variable", f"v{number}", None, 0, 0, 0)

    tallies = Tallies(Ownership(__file__))
    for number in range(2_000):
        tallies.at("variable", f"w{number}", None, 0, 0, 0)
    thresholds = gc.get_threshold()
    gc.callbacks.append(busy)
    gc.set_threshold(10)
    try:
        own_modules(Ownership(__file__))
        tallies.changed(0)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(busy)
        for name in [name for name in sys.modules if name.startswith("_made_while")]:
            del sys.modules[name]
    assert next(made) > 100
