"""The targets by name, as the machines' folders declare them: each folder beside this file that is compiled for has a module ``entry``
with a ``MACHINE``."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Sequence
from typing import Final

from loopwright import targets
from loopwright.errors import TargetError
from loopwright.ir.description import Description
from loopwright.targets.machine import Machine, numbers_of
from loopwright.targets.target import Target

__all__ = ["best", "best_with_features", "described", "get", "lines", "machine_of", "machine_that_has", "machines", "names", "target_of"]

_machines: dict[str, Machine] = {}
_known: Final[dict[tuple[str, int, str, frozenset[str]], Target]] = {}


def machines() -> dict[str, Machine]:
    """The machines by folder: first those whose code can be called somewhere."""
    global _machines
    if not _machines:
        found: list[tuple[bool, str, Machine]] = []
        for each in pkgutil.iter_modules(targets.__path__):
            entry = f"{targets.__name__}.{each.name}.entry"
            if each.ispkg and importlib.util.find_spec(entry) is not None:
                machine: Machine = importlib.import_module(entry).MACHINE
                found.append((not machine.architectures, each.name, machine))
        found.sort(key=lambda row: row[:2])
        _machines = {folder: machine for _, folder, machine in found}
    return _machines


def machine_of(name: str) -> Machine | None:
    """The machine of a target, by the beginning of the target's name: there may be more of its targets than ``get`` knows."""
    for machine in machines().values():
        if name.startswith(machine.family):
            return machine
    return None


def machine_that_has(target: Target) -> Machine | None:
    """The machine of a target, whatever it is called."""
    return machine_of(target.family or target.name)


def target_of(description: Description, vector_bits: int | None = None) -> Target:
    """The target for a processor of the user's own.

    Raises:
        TargetError: no code can be made for it, or it has no vectors of that width.
    """
    machine = machine_of(description.family())
    if machine is None or machine.target_of is None:
        raise TargetError(f"{description!r} describes a processor of no machine")
    target = machine.target_of(description)
    if vector_bits and not target.vector_bits:
        raise TargetError(f"{target.name} has no vectors")
    return target


def described(name: str | None, numbers: Sequence[str]) -> str | Description | None:
    """A target with other numbers for some of its parameters, as command lines have them: ``cells=8``.

    Args:
        name: of the target.
        numbers: a parameter, ``=`` and a number each. Without any, the name is returned.

    Raises:
        TargetError: a text that is none, no such target or parameter, or a number that cannot be.
    """
    if not numbers:
        return name
    values = numbers_of(numbers)
    machine = machine_of(name) if name is not None else None
    if name is None or machine is None or machine.described is None:
        having = [each.family for each in machines().values() if each.described is not None]
        raise TargetError(
            f"--set {numbers[0]}: {name or 'this CPU'} has no parameters to set; targets that have are {', '.join(having)}…: name one by --target"
        )
    get(name)
    return machine.described(name, values)


def lines() -> dict[str, str]:
    """A line about each target, by its name."""
    return {name: level.line for machine in machines().values() for name, level in machine.levels.items()}


def names() -> list[str]:
    """The names ``get`` takes."""
    return list(lines())


def get(name: str, vector_bits: int | None = None, convention: str | None = None, tuning: frozenset[str] = frozenset()) -> Target:
    """A target by name; the same object each time, so that its caches of rules are shared.

    Args:
        name: one of ``names()``, or one with optional features behind it, each after a ``+``.
        vector_bits: width of the vectors to use; None for the widest.
        convention: one of the machine's calling conventions; None for the usual one.
        tuning: what is known of the CPU that makes other code better, not what it can run: names of ``cpu.tuning``, of which each machine takes those it knows.

    Raises:
        TargetError: unknown name, or a width or convention the target does not have.
    """
    key = (name, vector_bits or 0, convention or "", tuning)
    known = _known.get(key)
    if known is not None:
        return known
    machine = machine_of(name)
    plain, *features = name.split("+")
    level = machine.levels.get(plain) if machine is not None else None
    if machine is None or level is None:
        raise TargetError(f"unknown target {name!r}; there are {', '.join(names())}")
    for feature in features:
        if feature not in level.optional:
            has = f"may be followed by +{', +'.join(level.optional)}" if level.optional else "has no optional features"
            raise TargetError(f"{plain} {has}, not by +{feature}")
    if features:
        name = with_features(plain, features)
    if vector_bits and vector_bits not in level.widths:
        if not level.widths:
            raise TargetError(f"{name} has no vectors")
        raise TargetError(f"{name} has vectors of {', '.join(map(str, level.widths))} bits, not {vector_bits}")
    if convention and convention not in machine.conventions:
        has = f"{name} has the calling convention" if len(machine.conventions) == 1 else f"{machine.family} has the calling conventions"
        raise TargetError(f"{has} {', '.join(machine.conventions)}, not {convention!r}")
    widest = level.widths[-1] if level.widths else 0
    made = machine.make(name, vector_bits or widest, convention or machine.conventions[0], tuning)
    if vector_bits:
        made.stream_bits = 0
    return _known.setdefault(key, made)


def with_features(name: str, features: Iterable[str]) -> str:
    """The name of a target with optional features."""
    return "+".join([name, *sorted(set(features))])


def best(features: frozenset[str] | set[str]) -> str | None:
    """The name of the best target whose features are all there, or None."""
    for machine in machines().values():
        name = machine.best(frozenset(features))
        if name is not None:
            return name
    return None


def best_with_features(features: frozenset[str] | set[str]) -> str | None:
    """As ``best``, with those of the target's optional features that are there."""
    name = best(features)
    machine = machine_of(name) if name is not None else None
    if name is None or machine is None:
        return None
    return with_features(name, [each for each in machine.levels[name].optional if each in features])
