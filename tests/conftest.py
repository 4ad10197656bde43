"""Fixtures of all Python tests: one gateway a module, and helpers on the path."""

from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))

from gateway import Gateway  # noqa: E402


@pytest.fixture(scope="module")
def gateway():
    """A gateway that the tests of one module share."""
    with Gateway("--restart-backoff-ms", "50", "--grace-seconds", "2") as running:
        yield running


@pytest.fixture
def own_gateway():
    """A gateway for one test alone, which may kill it."""
    with Gateway("--restart-backoff-ms", "50", "--grace-seconds", "2") as running:
        yield running
