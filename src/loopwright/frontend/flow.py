"""Which names are read later: live names of the statements of a kernel, by one walk backwards over the nesting.

Loops are walked until nothing changes (twice suffices: names only become live). Only live names are merged where paths
meet, and only live names that a loop writes are variables of it.
"""

from __future__ import annotations

from loopwright.frontend.program import (
    Assign,
    Break,
    Continue,
    Define,
    For,
    If,
    LoopStmt,
    NameTarget,
    Parsed,
    Reduction,
    Return,
    Stmt,
    Target,
    TupleTarget,
    While,
)

__all__ = ["RESULT", "analyse"]

#: Names of functions that give the least or the greatest of two.
_EXTREMES = frozenset(("min", "max"))
#: The name under which an inlined function's result is merged.
RESULT = "$result"


def analyse(parsed: Parsed, kept: set[str]) -> bool:
    """Fill in the live and carried names, and which returns come last; whether a return does not.

    ``kept`` are names that inner functions read, at any time.
    """
    _block(parsed.body, {RESULT, *kept}, set(), set(), kept)
    _mark_tails(parsed.body, True)
    for stmt in parsed.body:
        _mark_loops(stmt)
    return any(_inner_return(stmt) for stmt in parsed.body)


def _names(target: Target, into: set[str]) -> None:
    if isinstance(target, NameTarget):
        into.add(target.name)
    elif isinstance(target, TupleTarget):
        for item in target.items:
            _names(item, into)


def _block(body: list[Stmt], live: set[str], on_break: set[str], on_continue: set[str], kept: set[str]) -> set[str]:
    """Names live before the statements, given those live after them and at the places where break and continue lead."""
    live = set(live)
    for stmt in reversed(body):
        if isinstance(stmt, If):
            stmt.live = set(live)
            live = stmt.head | _block(stmt.body, live, on_break, on_continue, kept) | _block(stmt.orelse, live, on_break, on_continue, kept)
        elif isinstance(stmt, LoopStmt):
            stmt.live = set(live)
            after = set() if isinstance(stmt, While) and stmt.forever else live
            own: set[str] = set()
            if isinstance(stmt, For):
                _names(stmt.target, own)
            head = after | stmt.head
            while True:
                inside = _block(stmt.body, head, live, head, kept) - own
                grown = head | inside
                if grown == head:
                    break
                head = grown
            stmt.carried = sorted(stmt.writes & head)
            stmt.left = stmt.writes & stmt.live
            live = head
        elif isinstance(stmt, Break):
            live = set(on_break)
        elif isinstance(stmt, Continue):
            live = set(on_continue)
        elif isinstance(stmt, Return):
            live = stmt.reads | kept
        else:
            if isinstance(stmt, Assign | Define):
                live = live - (stmt.writes - kept)
            live |= stmt.reads
    return live


def _mark_tails(body: list[Stmt], tail: bool) -> None:
    for position, stmt in enumerate(body):
        last = tail and position == len(body) - 1
        if isinstance(stmt, Return):
            stmt.tail = last
        elif isinstance(stmt, If):
            _mark_tails(stmt.body, last)
            _mark_tails(stmt.orelse, last)
        elif isinstance(stmt, LoopStmt):
            _mark_tails(stmt.body, False)


def _inner_return(stmt: Stmt) -> bool:
    if isinstance(stmt, Return):
        return not stmt.tail
    if isinstance(stmt, If):
        return any(_inner_return(s) for s in stmt.body) or any(_inner_return(s) for s in stmt.orelse)
    if isinstance(stmt, LoopStmt):
        return any(_inner_return(s) for s in stmt.body)
    return False


def _mark_loops(stmt: Stmt) -> None:
    """Which loops have a break or continue of their own."""
    if isinstance(stmt, If):
        for inner in (*stmt.body, *stmt.orelse):
            _mark_loops(inner)
    elif isinstance(stmt, LoopStmt):
        stmt.breaks = _has(stmt.body, Break)
        stmt.continues = _has(stmt.body, Continue)
        last: set[str] = set()
        others: set[str] = set()
        _partings(stmt.body, last, others)
        stmt.parting = last - others
        added: list[str] = []
        used: set[str] = set()
        _totals(stmt.body, added, used)
        stmt.running = {name for name in added if name in used and added.count(name) == 1}
        for inner in stmt.body:
            _mark_loops(inner)


def _partings(body: list[Stmt], last: set[str], others: set[str]) -> None:
    """The names that statements assign on the way out of the loop around them, and the others."""
    if body and isinstance(body[-1], Break | Return):
        for stmt in body:
            last |= stmt.writes
        return
    for stmt in body:
        if isinstance(stmt, If):
            _partings(stmt.body, last, others)
            _partings(stmt.orelse, last, others)
            others |= stmt.writes - set().union(*[inner.writes for inner in (*stmt.body, *stmt.orelse)])
        else:
            others |= stmt.writes


def _totals(body: list[Stmt], added: list[str], used: set[str]) -> None:
    """The names that statements add to, as often as they do, and those that they read, or write, otherwise."""
    for stmt in body:
        if isinstance(stmt, If):
            used |= stmt.head
            _totals(stmt.body, added, used)
            _totals(stmt.orelse, added, used)
        elif isinstance(stmt, Assign) and stmt.reduction is not None and _runs_on(stmt.reduction):
            added.extend(stmt.writes)
            used |= stmt.reads - stmt.writes
        elif isinstance(stmt, LoopStmt):
            # (What is in it runs more than once.)
            added.extend([name for name in stmt.writes for _ in range(2)])
            used |= stmt.reads
        else:
            added.extend([name for name in stmt.writes for _ in range(2)])
            used |= stmt.reads


def _runs_on(reduction: Reduction) -> bool:
    """Whether a total has a value in each lane: what comes before it and this lane's part."""
    if reduction.function is not None:
        return reduction.name in _EXTREMES
    return len(reduction.steps) == 1 and reduction.steps[0][0] != "sub"


def _has(body: list[Stmt], kind: type[Stmt]) -> bool:
    for stmt in body:
        if isinstance(stmt, kind):
            return True
        if isinstance(stmt, If) and (_has(stmt.body, kind) or _has(stmt.orelse, kind)):
            return True
    return False
