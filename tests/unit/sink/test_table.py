from __future__ import annotations

import json

import pytest

from milepost.errors import NotReachableError, PreflightError
from milepost.sink.table import (
    FamilyFacts,
    TableFacts,
    marker_warnings,
    parse_facts,
    require_created,
    require_no_ttl,
    require_usable,
)

GOOD = TableFacts(exists=True, families={"d": FamilyFacts()})


def test_a_good_table_passes():
    require_usable("orders", GOOD, frozenset({"d"}))
    require_no_ttl("orders", GOOD, frozenset({"d"}), "offset")


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (TableFacts(exists=False, others=("order",)), "'orders' does not exist. Did you mean 'order'"),
        (TableFacts(exists=False, namespace_exists=False), "no namespace"),
        (TableFacts(exists=True, enabled=False), "is disabled"),
        (TableFacts(exists=True, read_only=True), "is read-only"),
        (TableFacts(exists=True, write_allowed=False), "not allowed to write table"),
        (TableFacts(exists=True, families={"x": FamilyFacts()}), "no column family 'd'. It has 'x'"),
    ],
)
def test_what_cannot_be_written_is_refused(facts: TableFacts, sentence: str):
    with pytest.raises(PreflightError, match=sentence) as raised:
        require_usable("orders", facts, frozenset({"d"}))
    assert raised.value.exit_code == 2
    assert raised.value.fix


def test_a_ttl_is_refused_where_versions_are_no_time():
    facts = TableFacts(exists=True, families={"d": FamilyFacts(ttl=86400), "e": FamilyFacts()})
    with pytest.raises(PreflightError, match=r"'d' \(TTL 86400 s\) expires"):
        require_no_ttl("orders", facts, frozenset({"d", "e"}), "offset")


@pytest.mark.parametrize(("kept_ms", "is_told"), [(0, True), (86_400_000, True), (2**63 - 1, False)])
def test_delete_markers_that_do_not_last_are_reported_in_one_short_line(kept_ms: int, is_told: bool):
    families = {"d": FamilyFacts(purge_deletes_after_ms=kept_ms), "e": FamilyFacts()}
    warning = next(
        marker_warnings("orders", TableFacts(exists=True, families=families), frozenset({"d"})), None
    )
    assert (warning is not None) is is_told
    if warning is not None:
        assert "Table 'orders', family 'd': " in warning
        assert "docs/hbase.md#zombies-and-deletes" in warning
        assert "'e'" not in warning
        assert len(warning) < 140
        assert "\n" not in warning


def test_facts_are_read():
    answer = {
        "reachable": True,
        "namespace-exists": True,
        "tables": ["a"],
        "table": {
            "exists": True,
            "enabled": True,
            "read-only": False,
            "families": {
                "d": {
                    "ttl": 5,
                    "versions": 3,
                    "min-versions": 1,
                    "keep-deleted-cells": "ttl",
                    "new-version-behavior": True,
                }
            },
        },
    }
    facts = parse_facts(json.dumps(answer), "zk:2181")
    assert facts.families == {
        "d": FamilyFacts(ttl=5, versions=3, keep_deleted_cells="ttl", new_version_behavior=True)
    }
    assert facts.others == ("a",)


def test_an_unreachable_hbase_is_named():
    with pytest.raises(NotReachableError, match="zk:2181"):
        parse_facts(
            json.dumps({"reachable": False, "error": {"kind": "unreachable", "message": "m"}}), "zk:2181"
        )


def test_missing_permission_is_its_own_refusal():
    # As the engine answers it: HBase was reached, and refused.
    answer = json.dumps({"reachable": True, "error": {"kind": "access-denied", "message": "m"}})
    with pytest.raises(PreflightError, match="Grant"):
        parse_facts(answer, "zk:2181")
    with pytest.raises(PreflightError, match="'orders' could not be created"):
        require_created("orders", answer, "zk:2181")


def test_a_created_table_passes():
    require_created("orders", json.dumps({"reachable": True, "error": None, "created": True}), "zk:2181")
