"""Targets with few registers, by the name some tests import them by."""

from __future__ import annotations

from tests.targets.conformance import limited

__all__ = ["limited"]
