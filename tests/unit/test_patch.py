"""Wrappers and prefixes: they see every call, come off without a trace, and stay out of tracebacks."""

from __future__ import annotations

import inspect
import sys
import traceback

import pytest

from tfslowtop.agent.code.ownership import Ownership
from tfslowtop.agent.hooks.patch import MissingTarget, Patch, Prefix
from tfslowtop.agent.tallies import Tallies


class Owner:
    def double(self, x):
        return 2 * x


class Heir(Owner):
    pass


def test_a_wrapper_can_be_changed_and_comes_off():
    before, seen = dict(vars(Heir)), []

    def telling(word):
        return lambda original: lambda *args: (seen.append(word), original(*args))[1]

    patch = Patch(Heir, "double", telling("a"))
    assert Heir().double(3) == 6
    patch.install(telling("b"))
    assert Heir().double(4) == 8
    patch.off()
    assert Heir().double(5) == 10
    assert seen == ["a", "b"] and dict(vars(Heir)) == before


def test_a_wrapper_says_the_arguments_of_what_it_wraps():
    def asked():
        return inspect.signature(Owner.double), inspect.getfullargspec(Owner.double)

    before = asked()
    patch = Patch(Owner, "double", lambda original: lambda *args, **kwds: original(*args, **kwds))  # noqa: PLW0108
    assert asked() == before
    patch.off()


def add(x, y=2, name=None):
    if name == "fail":
        raise ValueError(name)
    return x + y


def test_a_prefix_is_called_wherever_the_function_has_gone():
    taken, code, seen = add, add.__code__, []
    prefix = Prefix(add, lambda: seen.append(1))
    assert (taken(1), taken(1, y=5), taken(x=1, name="n")) == (3, 6, 3) and len(seen) == 3
    assert list(inspect.signature(taken).parameters) == ["x", "y", "name"]
    with pytest.raises(ValueError, match="fail") as failed:
        taken(1, name="fail")
    prefix.off()
    assert taken(1) == 3 and len(seen) == 4 and add.__code__ is code
    names = [frame.name for frame in traceback.extract_tb(failed.value.__traceback__)]
    assert names.count("add") == (1 if sys.version_info >= (3, 11) else 2)


def test_a_function_that_is_not_plain_gets_no_prefix():
    free = 1
    for function in (lambda *args: args, lambda **kwds: kwds, lambda *, a=1: a, lambda: free):
        with pytest.raises(MissingTarget):
            Prefix(function, print)


def test_tallies_tell_what_has_grown_as_totals_per_line():
    tallies = Tallies(Ownership(""))

    def work():
        for size in (1, 2):
            tallies.add("x", sys._getframe(), 10, size)

    work()
    (first,) = tallies.changed(1)
    assert (first.count, first.wall, first.size, first.at) == (2, 20, 3, 1)
    assert tallies.changed(2) == []
    work()
    tallies.put("y", "s", "f.py", 3, 1)
    second, put = tallies.changed(3)
    assert (second.line, second.count, second.size) == (first.line, 4, 6)
    assert (put.what, put.count) == ("y", 1)
    tallies.put("y", "s", "f.py", 3, 1)
    assert tallies.changed(4) == []
