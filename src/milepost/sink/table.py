"""Decides whether a table can take the job's rows. Pure: what HBase says goes in, a refusal or a warning comes out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from milepost.errors import MilepostError, NotReachableError, PreflightError
from milepost.sink.writers import Registry, parse_registry

PURGE_DELETES_AFTER = "hbase.hstore.time.to.purge.deletes"
"""HBase compares it with the age of a marker, which is the time now less the marker's version."""
FOR_EVER_MS = 2**63 - 1
_ABOUT_MARKERS = "docs/hbase.md#zombies-and-deletes"
_LONGER_THAN_ANY_VERSION_MS = 100 * 365 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyFacts:
    """What matters of a column family; no TTL is for ever."""

    ttl: int | None = None
    versions: int = 1
    min_versions: int = 0
    keep_deleted_cells: str = "false"
    """HBase's word: false, true, or ttl."""
    new_version_behavior: bool = False
    purge_deletes_after_ms: int = 0
    """How old a delete marker must be, by its version, before a major compaction may drop it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """What HBase says about the sink's table."""

    exists: bool
    enabled: bool = True
    read_only: bool = False
    write_allowed: bool = True
    namespace_exists: bool = True
    families: Mapping[str, FamilyFacts] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    registry: Registry = field(default_factory=Registry)
    """The jobs that write it."""


def parse_facts(answer: str, where: str) -> TableFacts:
    """Turn the engine's answer into facts, or into the error that a person can act on."""
    document = answered(answer, where)
    table = document["table"]
    return TableFacts(
        exists=table["exists"],
        enabled=table.get("enabled", True),
        read_only=table.get("read-only", False),
        write_allowed=table.get("write-allowed", True),
        namespace_exists=document.get("namespace-exists", True),
        families={
            name: FamilyFacts(
                ttl=family["ttl"],
                versions=family["versions"],
                min_versions=family.get("min-versions", 0),
                keep_deleted_cells=family.get("keep-deleted-cells", "false"),
                new_version_behavior=family.get("new-version-behavior", False),
                purge_deletes_after_ms=family.get("purge-deletes-after-ms", 0),
            )
            for name, family in table.get("families", {}).items()
        },
        others=tuple(document.get("tables", ())),
        registry=parse_registry(document.get("registry")),
    )


def require_usable(table: str, facts: TableFacts, families: frozenset[str]) -> None:
    """Refuse a table that is missing, disabled, read-only or without a family of the mapping."""
    if not facts.exists:
        raise _missing(table, facts)
    if not facts.enabled:
        raise PreflightError(
            f"Table {table!r} is disabled",
            why="HBase takes no writes to it",
            fix=f"Run `enable '{table}'` in the HBase shell",
        )
    if facts.read_only:
        raise PreflightError(
            f"Table {table!r} is read-only",
            why="its READONLY attribute is set",
            fix=f"Run `alter '{table}', READONLY => 'false'` in the HBase shell",
        )
    if not facts.write_allowed:
        raise PreflightError(
            f"Table {table!r} may not be written by this user",
            why="HBase checks permissions, and the user the job runs as has no W on the table",
            fix=f"Run `grant '<user>', 'RW', '{table}'` in the HBase shell",
        )
    unknown = sorted(families - facts.families.keys())
    if unknown:
        raise PreflightError(
            f"Table {table!r} has no column family {', '.join(map(repr, unknown))}",
            why=f"it has {', '.join(map(repr, sorted(facts.families)))}",
            fix="Correct sink.hbase.columns, or add the family to the table",
        )


def require_created(table: str, answer: str, where: str) -> None:
    """Refuse to go on where HBase did not create the table."""
    try:
        answered(answer, where)
    except MilepostError as error:
        raise PreflightError(f"Table {table!r} could not be created", why=error.why, fix=error.fix) from error


def require_no_ttl(table: str, facts: TableFacts, families: frozenset[str], version: str) -> None:
    """Refuse a family that expires cells by age where cell versions are no time."""
    expiring = {name: facts.families[name].ttl for name in families if facts.families[name].ttl is not None}
    if expiring:
        names = ", ".join(f"{name!r} (TTL {ttl} s)" for name, ttl in sorted(expiring.items()))
        raise PreflightError(
            f"Table {table!r}: column family {names} expires cells by age",
            why=f"with version: {version} a cell's timestamp is no time but a number, which HBase reads as a moment "
            "in 1970, so that every cell would expire at once",
            fix="Remove the TTL from the family, or use version: timestamp",
        )


def marker_warning(table: str, facts: TableFacts, families: frozenset[str]) -> str | None:
    """Return what to say of a table whose delete markers do not last, None where they do."""
    purging = sorted(
        name for name in families if facts.families[name].purge_deletes_after_ms < _LONGER_THAN_ANY_VERSION_MS
    )
    if not purging:
        return None
    names = ", ".join(map(repr, purging))
    return f"Table {table!r}, family {names}: delete markers do not outlive a major compaction; see {_ABOUT_MARKERS}"


def _missing(table: str, facts: TableFacts) -> MilepostError:
    if not facts.namespace_exists:
        return PreflightError(
            f"Table {table!r} does not exist: there is no namespace {table.split(':')[0]!r}",
            fix="Create the namespace and the table, or correct sink.hbase.table",
        )
    near = get_close_matches(table, facts.others, n=1)
    return PreflightError(
        f"Table {table!r} does not exist",
        fix=(f"Did you mean {near[0]!r}? " if near else "")
        + "Create it, or let Milepost create it with sink.hbase.create-table: {regions: 4}",
    )


def answered(answer: str, where: str) -> dict[str, Any]:
    """Return what HBase answered, or raise the error that a person can act on."""
    document: dict[str, Any] = json.loads(answer)
    # Who is refused has reached HBase: the error counts, not the reach.
    if document.get("error") or not document["reachable"]:
        raise _error(document.get("error") or {}, where)
    return document


def _error(error: Mapping[str, str], where: str) -> MilepostError:
    if error.get("kind") == "access-denied":
        return PreflightError(
            f"HBase at {where} does not let this user look at the table or create it",
            why=error.get("message", ""),
            fix="Grant read, write and, to create the table, create to the user the job runs as",
        )
    return NotReachableError(
        f"HBase at {where} does not answer",
        why=error.get("message", ""),
        fix="Check sink.hbase.quorum (ZooKeeper's host:port) and that HBase is running and reachable from here; on a "
        "busy machine raise sink.hbase.connect-timeout",
    )
