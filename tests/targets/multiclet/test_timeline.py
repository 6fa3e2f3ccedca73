"""Whole runs keep the rules of their processors, nothing waits without a reason, and planted faults are noticed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.targets.multiclet.programs import random_unit
from tests.targets.multiclet.timeline import Timeline

from loopwright.targets.multiclet import cycles
from loopwright.targets.multiclet.linker import link
from loopwright.targets.multiclet.parameters import PROCESSORS, S1, S2, Processor, replace

MACHINES = [
    *PROCESSORS.values(),
    replace(S1, name="narrow", cells=2, fetch=1, float_units=1, memory_ports=1, buffer=14),
    replace(S2, name="wide", multicells=2, memory_ports=1, fetch_to_issue=1, change=0),
]


def wrong(processor: Processor, seeds: range) -> list[str]:
    found: list[str] = []
    for seed in seeds:
        line = Timeline(link([random_unit(seed, processor)], processor, memory=1 << 16))
        line.run()
        found += [f"seed {seed}: {each}" for each in line.wrong()]
    return found


@pytest.mark.parametrize("processor", MACHINES, ids=lambda each: each.name)
def test_runs_keep_the_rules(processor: Processor) -> None:
    assert wrong(processor, range(25)) == []


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("_missing", lambda self, phase, cycle: ""),
        ("_order", lambda self, at, phase, cycle: ""),
        ("_known", lambda self, store: 0),
        (
            "_deliver",
            lambda self, cycle: [self.made.ready.__setitem__(at, cycle) or self.due.pop(at) for at, due in list(self.due.items()) if due <= cycle] != [],
        ),
        ("_places", lambda self, begin, first: ()),
        ("_registers", lambda self, begin, first: ()),
        ("_stores", lambda self, following, begin, first: None),
        ("_event", lambda self, cycle, waiting: cycle + 2),
    ],
)
def test_planted_faults_are_noticed(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles._Run, name, fault)
    assert wrong(replace(S2, name="quick", fetch_to_issue=1, change=0), range(25))
