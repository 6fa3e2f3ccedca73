"""What all tests share: the ``--bless`` option, which rewrites expected texts to what came out."""

from __future__ import annotations

import os

import pytest

#: Every allocation of every test is proved.
os.environ.setdefault("LOOPWRIGHT_CHECK_ALLOCATION", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", default=False, help="rewrite the expected texts in tests/files to what comes out now")


@pytest.fixture
def bless(request: pytest.FixtureRequest) -> bool:
    """Whether expected texts are to be rewritten instead of compared."""
    return bool(request.config.getoption("--bless"))
