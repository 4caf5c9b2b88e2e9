"""Where reading starts and stops: by name, by timestamp, or by offset per partition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Tag

from milepost.config.reading.faults import TAG, KeyFault
from milepost.config.section import Section
from milepost.config.values.value import (
    WORD,
    Moment,
    Topic,
    TypeLabel,
    by_shape,
)


def _offset(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be an offset")
    if value in (-1, -2, "-1", "-2"):
        raise ValueError(
            f"must not be negative; write {'latest' if int(value) == -1 else 'earliest'} by name"
        )
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value):
        return int(value)
    if isinstance(value, int) and not 0 <= value < 2**63:
        raise ValueError("must be an offset, at least 0")
    if isinstance(value, int) or value in ("earliest", "latest"):
        return value
    raise ValueError("must be an offset, earliest or latest")


def _stop_offset(value: int | str) -> int | str:
    if value == "earliest":
        raise ValueError("must be an offset or latest")
    return value


_Partition = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Offset = Annotated[int | Literal["earliest", "latest"], BeforeValidator(_offset)]
_StopOffset = Annotated[
    int | Literal["earliest", "latest"], BeforeValidator(_offset), AfterValidator(_stop_offset)
]
_SHAPES = "{offsets: {topic: {partition: offset}}}"


class AtTimestamp(Section):
    """The first record at or after a timestamp."""

    timestamp: Moment = Field(description="The timestamp, with a time zone.")


class AtOffsets(Section):
    """An offset per partition, or earliest or latest."""

    offsets: Annotated[
        Mapping[Topic, Mapping[_Partition, _Offset]], TypeLabel("{topic: {partition: offset}}")
    ] = Field(min_length=1, description="The next offset to read, per topic and partition.")


class UntilOffsets(Section):
    """An exclusive end offset per partition, or latest."""

    offsets: Annotated[
        Mapping[Topic, Mapping[_Partition, _StopOffset]], TypeLabel("{topic: {partition: offset}}")
    ] = Field(min_length=1, description="The offset before which reading stops, per topic and partition.")


Start = Annotated[
    Annotated[Literal["group-offsets", "earliest", "latest"], Tag(WORD)]
    | Annotated[AtTimestamp, Tag(TAG + "timestamp")]
    | Annotated[AtOffsets, Tag(TAG + "offsets")],
    by_shape(
        f"group-offsets, earliest, latest, {{timestamp: …}}, {_SHAPES}",
        {"timestamp": AtTimestamp, "offsets": AtOffsets},
    ),
]
Stop = Annotated[
    Annotated[Literal["never", "latest"], Tag(WORD)]
    | Annotated[AtTimestamp, Tag(TAG + "timestamp")]
    | Annotated[UntilOffsets, Tag(TAG + "offsets")],
    by_shape(
        f"never, latest, {{timestamp: …}}, {_SHAPES}", {"timestamp": AtTimestamp, "offsets": UntilOffsets}
    ),
]


def find_inverted_ranges(
    start: Mapping[str, Mapping[int, int | str]], stop: Mapping[str, Mapping[int, int | str]]
) -> Iterator[KeyFault]:
    """Yield the partitions whose stop offset is before their start offset."""
    for topic, partitions in stop.items():
        for partition, end in partitions.items():
            begin = start.get(topic, {}).get(partition)
            if isinstance(begin, int) and isinstance(end, int) and end < begin:
                path = f"stop.offsets.{topic}.{partition}"
                yield KeyFault((path, "start", "stop"), f"is {end}, before the start offset {begin}")
