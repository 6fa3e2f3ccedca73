"""The environment's variables are those that ``os.environ`` has now, whatever it is made of."""

from __future__ import annotations

import os

import pytest

from loopwright.environment import variable

NAME = "LOOPWRIGHT_TESTED"


def test_a_variable_that_is_set_changed_and_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    assert variable(NAME) == ""
    monkeypatch.setenv(NAME, "1")
    assert variable(NAME) == "1"
    monkeypatch.setenv(NAME, "prüfen")
    assert variable(NAME) == "prüfen"
    monkeypatch.delenv(NAME)
    assert variable(NAME) == ""


def test_an_environment_that_is_a_plain_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {NAME: "there"})
    assert variable(NAME) == "there"
    assert variable(f"{NAME}_NOT") == ""
