"""`sink.hbase`: the table, the mapping of columns to cells, and when mutations are sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Tag, ValidationInfo, field_validator

from milepost.config.reading.faults import TAG, KeyFault
from milepost.config.section import Section
from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    JAVA_INT_MAX,
    WORD,
    Column,
    Count,
    Directory,
    KeyColumns,
    MaskSensitive,
    PositiveDuration,
    PropertyValue,
    Size,
    Text,
    TypeLabel,
    by_shape,
    matching,
    servers,
)

GUARD_QUALIFIER = "_milepost"
"""Qualifier of the guard cell under guard: cas; it is in the first family by name and holds the version of its row."""

_OWNED = {
    "hbase.zookeeper.quorum": "use quorum",
    "hbase.zookeeper.property.clientPort": "use quorum with host:port",
}


def _property_key(key: str) -> str:
    if key in _OWNED:
        raise ValueError(f"belongs to Milepost; {_OWNED[key]}")
    if not key.startswith("hbase."):
        raise ValueError("is not an hbase.* key; put other keys into an hbase-site.xml and name it in site")
    return key


def _table(name: str) -> str:
    matching(
        r"(\w+:)?\w[\w.-]*", "is not a table name: [namespace:]table, of letters, digits, '_', '-' and '.'"
    )(name)
    if name.startswith("hbase:"):
        raise ValueError(f"{name!r} is in HBase's system namespace and cannot be written by a job")
    return name


def _family(name: str) -> str:
    if not name or name.startswith(".") or not name.isprintable() or set(name) & set(":/\\"):
        raise ValueError("is not a column family: printable, without ':', '/', '\\' and no leading '.'")
    return name


def _salt(value: int) -> int:
    if value != 0 and not 2 <= value <= 256:
        raise ValueError("must be 0 (no salt) or 2 to 256")
    return value


def _by_qualifier(value: Any) -> Any:
    """Return {qualifier: column} also for the short form, a list of columns."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return value
    named = [item for item in value if isinstance(item, str)]
    if len(named) != len(value):
        raise ValueError("must be a list of columns or a mapping of qualifiers to columns")
    twice = sorted({repr(item) for item in named if named.count(item) > 1})
    if twice:
        raise ValueError(f"maps {', '.join(twice)} twice to the same qualifier")
    return {item: item for item in named}


class VersionColumn(Section):
    """The cell version is taken from a column."""

    column: Column = Field(description="A BIGINT or TIMESTAMP column.")


class Flush(Section):
    """Limits for buffered mutations; below them the request size adapts to the load."""

    rows: Annotated[Count, Field(ge=1, le=JAVA_INT_MAX)] = Field(
        default=5000, description="Maximum number of rows in a request."
    )
    bytes: Size = Field(default=8 << 20, description="Maximum size of a request.")
    interval: PositiveDuration = Field(
        default=timedelta(seconds=1),
        description="Time until a mutation is readable, provided that HBase answers within half of it.",
    )


class CreateTable(Section):
    """Create the table at the start if it does not exist."""

    # Tables are split by the first byte of the row key, so 256 is the maximum.
    regions: Annotated[Count, Field(ge=1, le=256)] = Field(default=1, description="Number of regions.")


Version = Annotated[
    Annotated[Literal["offset", "checkpoint", "timestamp", "server-time"], Tag(WORD)]
    | Annotated[VersionColumn, Tag(TAG + "column")],
    by_shape("offset, checkpoint, timestamp, server-time, {column: name}", {"column": VersionColumn}),
]
Family = Annotated[
    Mapping[Text, Column],
    BeforeValidator(_by_qualifier),
    Field(min_length=1),
    TypeLabel("list or mapping of columns"),
]


class HBaseSink(Section):
    """An HBase table that mirrors the stream, exactly once through versioned cells."""

    quorum: (
        Annotated[
            tuple[Text, ...], BeforeValidator(servers("localhost:2181", 2181)), TypeLabel("host:port, …")
        ]
        | None
    ) = Field(default=None, description="ZooKeeper servers of HBase; alternative to site.")
    site: Annotated[Text, TypeLabel("path")] | None = Field(
        default=None, description="Path of an hbase-site.xml; alternative to quorum."
    )
    table: Annotated[Text, AfterValidator(_table), TypeLabel("[namespace:]table")] = Field(
        description="Name of the table."
    )
    row_key: KeyColumns = Field(
        description="Columns that form the row key; also _kafka.topic, _kafka.partition, _kafka.offset and _kafka.key."
    )
    salt: Annotated[Count, AfterValidator(_salt)] = Field(
        default=0, description="Number of values of a leading byte that spreads the row keys; 0 adds none."
    )
    columns: Annotated[
        Mapping[Annotated[str, AfterValidator(_family)], Family],
        TypeLabel("{family: [column, …]} or {family: {qualifier: column}}"),
    ] = Field(min_length=1, description="Mapping of columns to families and qualifiers.")
    op: Column | None = Field(
        default=None,
        description="Column that holds the operation, upsert or delete; absent: a record without a value, or the "
        "envelope of a change log, deletes.",
    )
    delete: Literal["row", "columns"] = Field(
        default="row", description="What a delete removes: all mapped families, or the mapped columns."
    )
    nulls: Literal["skip", "empty", "delete"] = Field(
        default="skip",
        description="What a null does: leave the cell as it is, write an empty cell, or delete the cell.",
    )
    encoding: Literal["native", "string", "json"] = Field(
        default="native", description="How values are encoded; native uses HBase's Bytes."
    )
    version: Version = Field(
        default="offset",
        description="Source of the cell versions; server-time (the clock of HBase) requires mode at-least-once.",
        json_schema_extra={"default": "`offset`; in mode at-least-once `server-time`"},
    )
    flush: Flush = Field(default_factory=Flush, description="When buffered mutations are sent.")
    write: Literal["mutations", "bulk-load", "auto"] = Field(
        default="mutations",
        description="How rows are written; auto bulk-loads HFiles when a checkpoint has many records.",
    )
    bulk_load_from: Annotated[Count, Field(ge=1)] = Field(
        default=200_000, description="Number of records in a checkpoint from which auto bulk-loads HFiles."
    )
    staging_dir: Directory | None = Field(
        default=None,
        description="Directory for HFiles before they are loaded; on HBase's own file system a load is a rename.",
        json_schema_extra={"default": "below `checkpointing.dir`"},
    )
    guard: Literal["none", "cas"] = Field(
        default="none",
        description="Additional protection against older writes; cas compares a guard cell with each write.",
    )
    shared: Annotated[bool, Field(strict=True), TypeLabel("true or false")] = Field(
        default=False,
        description="Allow other pipelines to write the same cells; the highest version of a cell wins.",
    )
    create_table: CreateTable | None = Field(
        default=None, description="Create the table if it does not exist."
    )
    connect_timeout: PositiveDuration = Field(
        default=timedelta(seconds=60), description="How long a start waits for HBase to answer."
    )
    properties: Annotated[
        Mapping[Annotated[str, AfterValidator(_property_key)], PropertyValue],
        MaskSensitive,
        TypeLabel("hbase.* properties"),
    ] = Field(default_factory=dict, description="Passed to the HBase client.")

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    @field_validator("site", mode="after")
    @classmethod
    def _find_site(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is None:
            return None
        try:
            path = ((info.context or {}).get("folder", Path()) / Path(text).expanduser()).absolute()
            found = path.is_file()
        except (OSError, RuntimeError, ValueError):
            found = False
        if not found:
            raise ValueError(f"{text!r} is not a file; name an hbase-site.xml")
        return text.with_text(str(path)) if isinstance(text, Secret) else str(path)

    def find_faults(self) -> Iterator[KeyFault]:
        """Check which keys of an HBase sink can be combined."""
        if self.quorum and self.site:
            yield KeyFault(("site", "quorum"), "cannot be combined with quorum; keep one of the two")
        if not self.quorum and not self.site:
            yield KeyFault(("quorum", "site"), "is required unless site is set")
        if self.guard == "cas":
            yield from self._guard_faults()

    def _guard_faults(self) -> Iterator[KeyFault]:
        if self.version == "server-time":
            message = "cas compares versions, and with server-time a replayed record gets a different version"
            yield KeyFault(("guard", "version"), f"{message}; use version offset, or guard none")
        if self.write != "mutations":
            message = f"{self.write} cannot compare versions before it writes; use mutations, or guard none"
            yield KeyFault(("write", "guard"), message)
        first = min(self.columns, key=str.encode)
        if GUARD_QUALIFIER in self.columns[first]:
            yield KeyFault(
                ("columns",), f"{first}:{GUARD_QUALIFIER} is reserved for guard: cas; use another qualifier"
            )
