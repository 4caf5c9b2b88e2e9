"""Which tables can be rolled back, the option for the sink, and its reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from milepost.checkpoint.versions.rollback import Rewind
from milepost.checkpoint.versions.versions import Versions
from milepost.config import HBaseSink
from milepost.errors import PreflightError
from milepost.migrate.rollback_table import (
    OPTION,
    RollbackCounts,
    require_older_versions,
    rollback_option,
    sum_reports,
)
from milepost.sink.table import FamilyFacts, TableFacts


def sink(**keys: Any) -> HBaseSink:
    return HBaseSink(
        **{"quorum": "h:1", "table": "orders", "row-key": ["id"], "columns": {"d": ["n"]}, **keys}
    )


def facts(**family: Any) -> TableFacts:
    return TableFacts(exists=True, families={"d": FamilyFacts(**{"versions": 3, **family})})


@pytest.mark.parametrize(
    ("keys", "family", "what"),
    [
        ({"guard": "cas"}, {}, "guarded by cas"),
        ({"version": "timestamp"}, {}, "neither offsets nor checkpoint ids"),
        ({"version": {"column": "n"}}, {}, "neither offsets nor checkpoint ids"),
        ({}, {"versions": 1}, "family 'd' keeps 1 version"),
    ],
)
def test_a_table_that_cannot_go_back_is_refused(keys: Any, family: Any, what: str):
    with pytest.raises(PreflightError, match=what) as raised:
        require_older_versions(sink(**keys), facts(**family))
    assert "--keep-table" in raised.value.fix


def test_a_table_that_can():
    require_older_versions(sink(), facts())
    require_older_versions(sink(version="checkpoint"), facts())


def test_what_the_sink_is_told():
    limits = Rewind(generation=1, versions=Versions(), limits={"t": {0: 7}})
    document = json.loads(
        rollback_option(sink(), facts(keep_deleted_cells="true"), limits, apply=True)[OPTION]
    )
    assert document.pop("id")
    assert document == {
        "generation": 1,
        "apply": True,
        "limit": None,
        "limits": {"t": {"0": 7}},
        "families": {"d": {"versions": 3, "keeps-deleted": True}},
    }


def test_acknowledgements_are_added_up():
    ack = {"rows": 2, "same": 1, "restored": 1, "removed": 0, "lost": 3, "examples": ["a d:n"] * 6}
    assert sum_reports([json.dumps([ack, ack])]) == RollbackCounts(
        rows=4, same=2, restored=2, removed=0, lost=6, examples=("a d:n",) * 10
    )
    assert sum_reports([]) == RollbackCounts()
