"""A small valid job, and what is wrong with it once changed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from milepost.config import parse_config
from milepost.errors import ConfigError, ConfigFault

JOB: dict[str, Any] = {
    "name": "orders",
    "source": {"kafka": {"bootstrap-servers": "localhost:9092", "topics": ["orders"]}},
    "sink": {
        "hbase": {
            "quorum": "localhost:2181",
            "table": "orders",
            "row-key": ["id"],
            "columns": {"d": ["customer", "amount"]},
        }
    },
    "checkpointing": {"dir": "file:///data/orders"},
}
REMOVED = object()

Changes = dict[str, Any]
Faults = dict[str, str]


def changed(changes: Changes) -> dict[str, Any]:
    """Return the job with values set, or taken out, at paths written with slashes."""
    job = deepcopy(JOB)
    for path, value in changes.items():
        *outer, last = path.split("/")
        at = job
        for key in outer:
            at = at.setdefault(key, {})
        if value is REMOVED:
            at.pop(last)
        else:
            at[last] = value
    return job


def _faults_in(values: dict[str, Any]) -> tuple[ConfigFault, ...]:
    try:
        parse_config(values)
    except ConfigError as error:
        return error.faults
    return ()


@pytest.fixture
def job() -> Callable[[Changes], dict[str, Any]]:
    return changed


@pytest.fixture
def removed() -> object:
    return REMOVED


@pytest.fixture
def faults() -> Callable[[Changes], Faults]:
    def of(changes: Changes) -> Faults:
        found = _faults_in(changed(changes))
        assert len({f.path for f in found}) == len(found), "each key is blamed once"
        return {fault.path: fault.message for fault in found}

    return of
