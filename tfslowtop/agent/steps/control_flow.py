"""Finds the loops of a code object in its bytecode: no source needed, nothing guessed from line numbers.

Python puts the cold parts of a function (exception handlers) after the warm ones, so an offset says little
about order. The control-flow graph does: a natural loop is what can come back to a header that dominates it,
and inside a loop, an instruction that cannot be reached forward from the last one was reached by another
iteration.
"""

from __future__ import annotations

import bisect
import dis
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType

_ENDS = {
    "RETURN_VALUE",
    "RETURN_CONST",
    "RAISE_VARARGS",
    "RERAISE",
    "JUMP_FORWARD",
    "JUMP_ABSOLUTE",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}

#: A longer function is not analysed: it is generated code, and the analysis would take noticeable time.
_MOST_INSTRUCTIONS = 40_000


@dataclass(slots=True, eq=False)
class CodeLoop:
    """One loop in the code: the line of its header and the blocks that it runs through."""

    line: int
    is_for: bool
    blocks: set[int]
    headers: set[int]
    first_line: int = 0
    last_line: int = 0
    test: int = -1
    """Where a `for` asks for its next item."""
    item: str = ""
    """The variable that holds it, if nothing else in the loop sets that variable."""
    calls: bool = True
    """Whether its body calls anything besides the loops in it."""


@dataclass(slots=True)
class Flow:
    starts: list[int]
    """Offsets at which the basic blocks begin."""
    loops: list[CodeLoop]
    """Outer loops before the loops inside them."""
    _after: dict[int, tuple[int, ...]]
    _reach: dict[int, set[int]] = field(default_factory=dict)

    def block(self, offset: int) -> int:
        return bisect.bisect_right(self.starts, offset) - 1

    def around(self, offset: int) -> tuple[CodeLoop, ...]:
        """Return the loops around an instruction, outermost first."""
        block = self.block(offset)
        return tuple(loop for loop in self.loops if block in loop.blocks)

    def forward(self, a: int, b: int) -> bool:
        """Whether `b` can follow `a` without another iteration of any loop around both."""
        first, second = self.block(a), self.block(b)
        if first == second:
            return b > a
        # A loop that is not around `b` may test once more: that is how a `for` finds its end.
        left = [loop for loop in self.loops if first in loop.blocks and second not in loop.blocks]
        ways = {first, *(header for loop in left for header in loop.headers)}
        return any(second in self._reachable(block) for block in ways)

    def _reachable(self, start: int) -> set[int]:
        seen = self._reach.get(start)
        if seen is None:
            seen = self._reach[start] = set()
            todo = list(self._after.get(start, ()))
            while todo:
                block = todo.pop()
                if block not in seen:
                    seen.add(block)
                    todo += self._after.get(block, ())
        return seen


def analyse(code: CodeType) -> Flow:
    if len(code.co_code) // 2 > _MOST_INSTRUCTIONS:
        return Flow([0], [], {})
    instructions = list(dis.get_instructions(code))
    handlers = [(e.start, e.end, e.target) for e in getattr(dis.Bytecode(code), "exception_entries", ())]
    starts = _leaders(instructions, handlers)
    edges, jumps = _edges(instructions, handlers, starts)
    order = _postorder(edges)
    dominators = _dominators(edges, order)
    loops: dict[int, CodeLoop] = {}
    back: set[tuple[int, int]] = set()
    lines = _lines(code)
    for source in order:
        for header in edges[source]:
            if not _dominates(dominators, header, source):
                continue
            back.add((source, header))
            jump = jumps.get((source, header))
            if jump is None or jump.opname == "JUMP_BACKWARD_NO_INTERRUPT":
                continue  # waiting for another coroutine is not a loop of the user's
            loop = loops.setdefault(header, CodeLoop(0, False, {header}, {header}))
            loop.blocks |= _body(edges, header, source)
            for_iter = next((i for i in _of(instructions, starts, header) if i.opname == "FOR_ITER"), None)
            loop.is_for = for_iter is not None
            if for_iter is not None:
                loop.line, loop.test = lines(for_iter.offset), for_iter.offset
    after = {a: tuple(b for b in bs if (a, b) not in back) for a, bs in edges.items()}
    for loop in loops.values():
        body = [i for b in sorted(loop.blocks) for i in _of(instructions, starts, b)]
        loop.item = _item(body, loop.test)
        numbers = [lines(i.offset) for i in body]
        loop.first_line, loop.last_line = min(numbers, default=0), max(numbers, default=0)
        loop.line = loop.line or loop.first_line  # a `while` is tested again at its end, on its own line
    whole = _merged(list(loops.values()))
    for loop in whole:
        inside = [r for r in whole if r.blocks < loop.blocks]
        heads = {loop.line, *(r.line for r in inside)}
        alone = loop.blocks.difference(*(r.blocks for r in inside))
        rest = [i for b in alone for i in _of(instructions, starts, b) if i.opname.startswith("CALL")]
        loop.calls = any(lines(i.offset) not in heads for i in rest)
    return Flow(starts, whole, after)


def _item(body: list[dis.Instruction], test: int) -> str:
    if test < 0:
        return ""
    stores = [i for i in body if i.opname.startswith(("STORE_", "DELETE_"))]
    after = [i for i in stores if i.offset > test]
    if not after or not after[0].opname.startswith(
        ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
    ):
        return ""
    first = _names(after[0])[0]
    return first if sum(name == first for i in stores for name in _names(i)) == 1 else ""


def _names(store: dis.Instruction) -> tuple[str, ...]:
    """Name what an instruction stores to: two variables at once in some versions, or one and a load."""
    names = store.argval if isinstance(store.argval, tuple) else (store.argval,)
    return tuple(map(str, names[:1] if "LOAD" in store.opname else names))


def _leaders(instructions: list[dis.Instruction], handlers: list[tuple[int, int, int]]) -> list[int]:
    leaders = {0}
    for entry in handlers:
        leaders.update(entry)
    for here, following in itertools.pairwise(instructions):
        if here.opcode in _JUMPS:
            leaders.add(int(here.argval))
        if here.opcode in _JUMPS or here.opname in _ENDS:
            leaders.add(following.offset)
    if instructions and instructions[-1].opcode in _JUMPS:
        leaders.add(int(instructions[-1].argval))
    return sorted(leaders)


def _of(instructions: list[dis.Instruction], starts: list[int], block: int) -> list[dis.Instruction]:
    end = starts[block + 1] if block + 1 < len(starts) else 1 << 60
    low = bisect.bisect_left(instructions, starts[block], key=lambda i: i.offset)
    high = bisect.bisect_left(instructions, end, key=lambda i: i.offset)
    return instructions[low:high]


def _edges(
    instructions: list[dis.Instruction], handlers: list[tuple[int, int, int]], starts: list[int]
) -> tuple[dict[int, list[int]], dict[tuple[int, int], dis.Instruction]]:
    number = {start: block for block, start in enumerate(starts)}
    edges: dict[int, list[int]] = {block: [] for block in range(len(starts))}
    jumps: dict[tuple[int, int], dis.Instruction] = {}
    for block in edges:
        body = _of(instructions, starts, block)
        if not body:
            continue
        last = body[-1]
        if last.opcode in _JUMPS:
            target = number[int(last.argval)]
            edges[block].append(target)
            jumps[block, target] = last
        if last.opname not in _ENDS and block + 1 < len(starts):
            edges[block].append(block + 1)
        for start, end, target_offset in handlers:
            if start <= starts[block] < end:
                edges[block].append(number[target_offset])
    return edges, jumps


def _postorder(edges: dict[int, list[int]]) -> list[int]:
    """Return the reachable blocks in postorder."""
    seen, order = {0}, []
    stack = [(0, iter(edges[0]))]
    while stack:
        block, rest = stack[-1]
        for following in rest:
            if following not in seen:
                seen.add(following)
                stack.append((following, iter(edges[following])))
                break
        else:
            order.append(block)
            stack.pop()
    return order


def _dominators(edges: dict[int, list[int]], order: list[int]) -> dict[int, int]:
    """Find the immediate dominator of each block (Cooper, Harvey and Kennedy's simple algorithm)."""
    rank = {block: n for n, block in enumerate(order)}
    before: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for following in edges[block]:
            before[following].append(block)
    parent = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in reversed(order):
            if block == 0:
                continue
            best: int | None = None
            for other in before[block]:
                if other in parent:
                    best = other if best is None else _meet(parent, rank, other, best)
            if best is not None and parent.get(block) != best:
                parent[block] = best
                changed = True
    return parent


def _meet(parent: dict[int, int], rank: dict[int, int], a: int, b: int) -> int:
    while a != b:
        while rank[a] < rank[b]:
            a = parent[a]
        while rank[b] < rank[a]:
            b = parent[b]
    return a


def _dominates(parent: dict[int, int], a: int, b: int) -> bool:
    while b != a:
        if b == parent.get(b, b):
            return False
        b = parent[b]
    return True


def _body(edges: dict[int, list[int]], header: int, source: int) -> set[int]:
    """Collect the blocks that can reach `source` without passing the header."""
    before: dict[int, list[int]] = {}
    for block, following in edges.items():
        for other in following:
            before.setdefault(other, []).append(block)
    body, todo = {header, source}, [source]
    while todo:
        block = todo.pop()
        if block == header:
            continue
        for other in before.get(block, ()):
            if other not in body:
                body.add(other)
                todo.append(other)
    return body


def _merged(loops: list[CodeLoop]) -> list[CodeLoop]:
    """Merge loops with the same lines: a `while` with a `continue` has two headers, its test and its body."""
    loops.sort(key=lambda loop: -len(loop.blocks))
    result: list[CodeLoop] = []
    for loop in loops:
        span = (False, loop.first_line, loop.last_line)
        same = [r for r in result if (r.is_for or loop.is_for, r.first_line, r.last_line) == span]
        if same:
            same[0].blocks |= loop.blocks
            same[0].headers |= loop.headers
        else:
            result.append(loop)
    return result


def _lines(code: CodeType) -> Callable[[int], int]:
    """Return a function from offset to line."""
    spans = [(start, line) for start, _, line in code.co_lines() if line is not None]
    spans.sort()
    offsets = [start for start, _ in spans]

    def line(offset: int) -> int:
        at = bisect.bisect_right(offsets, offset) - 1
        return spans[at][1] if at >= 0 else code.co_firstlineno

    return line
