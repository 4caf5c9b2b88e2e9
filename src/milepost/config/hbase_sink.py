"""`sink.hbase`: which table, how columns become cells, and when mutations are sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Tag, ValidationInfo, field_validator

from milepost.config.reading.faults import TAG
from milepost.config.section import Section
from milepost.config.values.secret import Secret
from milepost.config.values.value import (
    JAVA_INT_MAX,
    WORD,
    Column,
    Count,
    Directory,
    Hidden,
    KeyColumns,
    PositiveDuration,
    PropertyValue,
    Shown,
    Size,
    Text,
    by_shape,
    matching,
    servers,
)

GUARD_QUALIFIER = "_milepost"
"""Under guard: cas, in the first family by name: the cell that holds the version of its row."""

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
        raise ValueError("must be 0 (none) or 2 to 256")
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
    """Limits of buffered mutations; within them, requests get the size that pays by themselves."""

    rows: Annotated[Count, Field(ge=1, le=JAVA_INT_MAX)] = Field(
        default=5000, description="Most rows in one request."
    )
    bytes: Size = Field(default=8 << 20, description="Most bytes in one request.")
    interval: PositiveDuration = Field(
        default=timedelta(seconds=1),
        description="Time within which a mutation is readable, where HBase answers within half of it.",
    )


class CreateTable(Section):
    """The table is created at the start if it is not there."""

    # The first byte of a row key splits a table into no more.
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
    Shown("list or mapping of columns"),
]


class HBaseSink(Section):
    """A table of HBase that mirrors the stream, exactly once by versioned cells."""

    quorum: (
        Annotated[tuple[Text, ...], BeforeValidator(servers("localhost:2181", 2181)), Shown("host:port, …")]
        | None
    ) = Field(default=None, description="ZooKeeper servers of HBase; or site.")
    site: Annotated[Text, Shown("path")] | None = Field(
        default=None, description="Path of an hbase-site.xml; or quorum."
    )
    table: Annotated[Text, AfterValidator(_table), Shown("[namespace:]table")] = Field(
        description="The table."
    )
    row_key: KeyColumns = Field(
        description="Columns that make the row key; of _kafka: topic, partition, offset, key."
    )
    salt: Annotated[Count, AfterValidator(_salt)] = Field(
        default=0, description="Leading byte that spreads row keys over this many values; 0 is none."
    )
    columns: Annotated[
        Mapping[Annotated[str, AfterValidator(_family)], Family],
        Shown("{family: [column, …]} or {family: {qualifier: column}}"),
    ] = Field(min_length=1, description="Which columns go to which family and qualifier.")
    op: Column | None = Field(
        default=None,
        description="Column that says upsert or delete; absent: a record without a value, or its envelope, deletes.",
    )
    delete: Literal["row", "columns"] = Field(
        default="row", description="What a delete removes: all mapped families, or the mapped columns."
    )
    nulls: Literal["skip", "empty", "delete"] = Field(
        default="skip", description="What a null does: nothing, an empty cell, or a delete of the cell."
    )
    encoding: Literal["native", "string", "json"] = Field(
        default="native", description="How values become bytes; native is HBase's Bytes."
    )
    version: Version = Field(
        default="offset",
        description="What a cell's version is taken from; server-time, HBase's own clock, only at-least-once.",
        json_schema_extra={"default": "`offset`; in mode at-least-once `server-time`"},
    )
    flush: Flush = Field(default_factory=Flush, description="When buffered mutations are sent.")
    write: Literal["mutations", "bulk-load", "auto"] = Field(
        default="mutations",
        description="How rows get into the table; auto loads HFiles while a checkpoint has many records.",
    )
    bulk_load_from: Annotated[Count, Field(ge=1)] = Field(
        default=200_000, description="Records of a checkpoint from which on auto loads HFiles."
    )
    staging_dir: Directory | None = Field(
        default=None,
        description="Where HFiles wait to be loaded; on the file system of HBase a load is a rename.",
        json_schema_extra={"default": "below `checkpointing.dir`"},
    )
    guard: Literal["none", "cas"] = Field(
        default="none",
        description="What else keeps an older value from a newer cell; cas compares a guard cell at each write.",
    )
    shared: Annotated[bool, Field(strict=True), Shown("true or false")] = Field(
        default=False,
        description="Other pipelines may write the same cells; the higher version of a cell stays.",
    )
    create_table: CreateTable | None = Field(
        default=None, description="Creates the table if it is not there."
    )
    connect_timeout: PositiveDuration = Field(
        default=timedelta(seconds=60), description="How long a start waits for HBase to answer."
    )
    properties: Annotated[
        Mapping[Annotated[str, AfterValidator(_property_key)], PropertyValue],
        Hidden,
        Shown("hbase.* properties"),
    ] = Field(default_factory=dict, description="Passed to the HBase client.")

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
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

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the faults between the keys of an HBase sink."""
        if self.quorum and self.site:
            yield ("site", "quorum"), "cannot stand beside quorum; keep one of the two"
        if not self.quorum and not self.site:
            yield ("quorum", "site"), "is required, or site"
        if self.guard == "cas":
            yield from self._guard_faults()

    def _guard_faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        if self.version == "server-time":
            message = (
                "cas compares versions, and server-time gives none that a repeated record would have again"
            )
            yield ("guard", "version"), f"{message}; use version offset, or guard none"
        if self.write != "mutations":
            message = f"{self.write} cannot compare before it writes; use mutations, or guard none"
            yield ("write", "guard"), message
        first = min(self.columns, key=str.encode)
        if GUARD_QUALIFIER in self.columns[first]:
            yield ("columns",), f"{first}:{GUARD_QUALIFIER} is the cell of guard: cas; use another qualifier"
