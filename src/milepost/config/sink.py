"""`sink`: exactly one of the supported sinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from milepost.config.hbase_sink import HBaseSink
from milepost.config.kafka_sink import KafkaSink
from milepost.config.reading.faults import KeyFault
from milepost.config.section import Section
from milepost.config.values.value import Count, Participant
from milepost.errors import PreflightError


class ConsoleSink(Section):
    """Prints rows to the standard output of the driver."""

    rows: Annotated[Count, Field(ge=1, le=100_000)] = Field(
        default=20, description="Maximum number of rows to print per checkpoint."
    )

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


class PythonSink(Section):
    """A user-defined class that receives every row and takes part in every checkpoint."""

    python: Participant = Field(description="Class of the sink, as module:Class.")

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


SinkKind = HBaseSink | KafkaSink | ConsoleSink | PythonSink


class Sink(Section):
    """The destination of the rows."""

    # The fields are not named after their keys, because the property `hbase` returns the HBase sink or fails.
    to_hbase: HBaseSink | None = Field(default=None, alias="hbase", description="An HBase table.")
    to_kafka: KafkaSink | None = Field(default=None, alias="kafka", description="A Kafka topic.")
    to_console: ConsoleSink | None = Field(
        default=None, alias="console", description="Standard output of the driver."
    )
    to_python: Participant | None = Field(
        default=None, alias="python", description="A user-defined class; see docs/sinks.md."
    )

    @property
    def kind(self) -> SinkKind:
        """The configured sink."""
        kind = next(iter(self._set().values()))
        return PythonSink(python=kind) if isinstance(kind, str) else kind

    @property
    def key(self) -> str:
        """The key of the configured sink, such as sink.hbase."""
        return f"sink.{next(iter(self._set()))}"

    @property
    def hbase(self) -> HBaseSink:
        """The HBase sink; raises PreflightError for a job with another sink."""
        if self.to_hbase is None:
            raise PreflightError(
                f"This requires a job whose sink is hbase, but its sink is {self.key.removeprefix('sink.')}",
                why="it works on the table that the job writes",
                fix="Use it with a pipeline that has sink.hbase",
            )
        return self.to_hbase

    def _set(self) -> dict[str, HBaseSink | KafkaSink | ConsoleSink | str]:
        fields = type(self).model_fields.items()
        found = {field.alias or name: getattr(self, name) for name, field in fields}
        return {key: kind for key, kind in found.items() if kind is not None}

    def find_faults(self) -> Iterator[KeyFault]:
        """Check that exactly one sink is set."""
        found = list(self._set())
        if not found:
            keys = [field.alias or name for name, field in type(self).model_fields.items()]
            yield KeyFault(tuple(keys), f"is required, or one of {', '.join(keys[1:])}")
        elif len(found) > 1:
            yield KeyFault((found[1], *found), f"cannot be combined with {found[0]}; keep one of the two")


def as_sink(value: Any) -> Any:
    """Accept an instance of a sink where the file has a mapping with the kind as its key."""
    if isinstance(value, PythonSink):
        return {"python": value.python}
    kinds = {HBaseSink: "hbase", KafkaSink: "kafka", ConsoleSink: "console"}
    return {kinds[type(value)]: value} if type(value) in kinds else value
