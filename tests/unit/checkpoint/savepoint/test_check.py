"""A savepoint beside the job that is to be restored from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.checkpoint.savepoint.test_write import savepoint

from milepost.checkpoint.savepoint.check import differences, require_same
from milepost.checkpoint.savepoint.manifest import SavedFile
from milepost.checkpoint.store.store import Store
from milepost.errors import PreflightError

SOURCE = {"topics": ["orders"], "topic-pattern": None, "format": "json", "schema": "id STRING"}
SINK = {"hbase": {"table": "t", "families": ["d"], "row-key": ["id"], "version": "offset"}}
OUTLINE = {
    "sources": {"source": SOURCE},
    "sink": SINK,
    "state-backend": "rocksdb",
    "execution": "micro-batch",
}
SAVED = replace(savepoint(Store.at("memory://check")), outline=OUTLINE)


def test_the_same_job_has_none():
    assert differences(SAVED, "orders", OUTLINE) == []
    require_same(SAVED, [], is_allowed=False)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            {"sources": {"source": SOURCE | {"topics": ["bills"]}}},
            "topics of source 'source' was ['orders'] and is ['bills']",
        ),
        (
            {"sources": {"source": SOURCE | {"schema": "id INT"}}},
            "schema of source 'source' was id STRING and is id INT",
        ),
        ({"sources": {"a": SOURCE}}, "source 'source' is gone"),
        ({"sources": {"source": SOURCE, "b": SOURCE}}, "source 'b' is new"),
        ({"sink": {"hbase": SINK["hbase"] | {"table": "u"}}}, "sink.hbase.table was t and is u"),
        (
            {"sink": {"hbase": SINK["hbase"] | {"families": ["d", "e"]}}},
            "sink.hbase.families was ['d'] and is ['d', 'e']",
        ),
        ({"sink": {"console": {}}}, "the sink was hbase and is console"),
    ],
)
def test_what_is_different_is_listed_and_may_be_allowed(change: dict[str, Any], what: str):
    found = differences(SAVED, "orders", OUTLINE | change)
    assert what in [each.what for each in found]
    with pytest.raises(PreflightError) as refused:
        require_same(SAVED, found, is_allowed=False)
    assert what in refused.value.what
    assert "--allow-non-restored-state" in refused.value.fix
    require_same(SAVED, found, is_allowed=True)


def test_another_job_is_another_job():
    (found,) = differences(SAVED, "bills", OUTLINE)
    assert found.what == "the job was 'orders' and is 'bills'"


def test_state_of_another_backend_can_never_be_read():
    stateful = replace(SAVED, files={"state/0/0/1.zip": SavedFile(1, "a" * 64)})
    found = differences(stateful, "orders", OUTLINE | {"state-backend": "filesystem"})
    with pytest.raises(PreflightError) as refused:
        require_same(stateful, found, is_allowed=True)
    assert "--allow" not in refused.value.fix
    assert differences(SAVED, "orders", OUTLINE | {"state-backend": "filesystem"}) == []
