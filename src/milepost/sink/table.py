"""Decides from the facts about a table whether the job can write it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from milepost.errors import MilepostError, NotReachableError, PreflightError
from milepost.sink.writers import Registry, parse_registry

PURGE_DELETES_AFTER = "hbase.hstore.time.to.purge.deletes"
"""HBase compares it with the age of a marker: the current time minus the version of the marker."""
FOR_EVER_MS = 2**63 - 1
_ABOUT_MARKERS = "docs/hbase.md#zombies-and-deletes"
_LONGER_THAN_ANY_VERSION_MS = 100 * 365 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyFacts:
    """The relevant attributes of a column family; a TTL of None means that cells never expire."""

    ttl: int | None = None
    versions: int = 1
    keep_deleted_cells: str = "false"
    """The value in HBase: false, true or ttl."""
    new_version_behavior: bool = False
    purge_deletes_after_ms: int = 0
    """The minimum age of a delete marker, by its version, before a major compaction may drop it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """The facts about the table of the sink."""

    exists: bool
    enabled: bool = True
    read_only: bool = False
    write_allowed: bool = True
    namespace_exists: bool = True
    families: Mapping[str, FamilyFacts] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    registry: Registry = field(default_factory=Registry)
    """The jobs that write the table."""


def parse_facts(answer: str, where: str) -> TableFacts:
    """Parse the answer of the engine; raises an error that the user can act on."""
    document = parse_answer(answer, where)
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
    """Refuse a table that does not exist, cannot be written, or lacks a family of the mapping."""
    if not facts.exists:
        raise _missing(table, facts)
    if not facts.enabled:
        raise PreflightError(
            f"Table {table!r} is disabled",
            why="HBase rejects writes to a disabled table",
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
            f"The user is not allowed to write table {table!r}",
            why="the user that runs the job has no W permission on the table",
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
    """Refuse to start if HBase did not create the table."""
    try:
        parse_answer(answer, where)
    except MilepostError as error:
        raise PreflightError(f"Table {table!r} could not be created", why=error.why, fix=error.fix) from error


def require_no_ttl(table: str, facts: TableFacts, families: frozenset[str], version: str) -> None:
    """Refuse a family with a TTL if the cell versions are not timestamps."""
    expiring = {name: facts.families[name].ttl for name in families if facts.families[name].ttl is not None}
    if expiring:
        names = ", ".join(f"{name!r} (TTL {ttl} s)" for name, ttl in sorted(expiring.items()))
        raise PreflightError(
            f"Table {table!r}: column family {names} expires cells by age",
            why=f"with version: {version} the timestamp of a cell is a number that HBase interprets as a time in 1970, "
            "so every cell would expire immediately",
            fix="Remove the TTL from the family, or use version: timestamp",
        )


def marker_warnings(table: str, facts: TableFacts, families: frozenset[str]) -> Iterator[str]:
    """Yield a warning for families whose delete markers are dropped by a major compaction."""
    purging = sorted(
        name for name in families if facts.families[name].purge_deletes_after_ms < _LONGER_THAN_ANY_VERSION_MS
    )
    if purging:
        names = ", ".join(map(repr, purging))
        yield f"Table {table!r}, family {names}: delete markers do not outlive a major compaction; see {_ABOUT_MARKERS}"


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


def parse_answer(answer: str, where: str) -> dict[str, Any]:
    """Return the answer of HBase; raises an error that the user can act on."""
    document: dict[str, Any] = json.loads(answer)
    # A denied request has reached HBase, so the error takes precedence.
    if document.get("error") or not document["reachable"]:
        raise _error(document.get("error") or {}, where)
    return document


def _error(error: Mapping[str, str], where: str) -> MilepostError:
    if error.get("kind") == "access-denied":
        return PreflightError(
            f"HBase at {where} does not allow this user to read or create the table",
            why=error.get("message", ""),
            fix="Grant read, write and, to create the table, create permission to the user that runs the job",
        )
    return NotReachableError(
        f"HBase at {where} does not answer",
        why=error.get("message", ""),
        fix="Check sink.hbase.quorum (ZooKeeper's host:port) and that HBase is running and reachable; on a "
        "busy machine raise sink.hbase.connect-timeout",
    )
