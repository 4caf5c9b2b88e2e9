"""`sink`: exactly one of the kinds of sink that there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from milepost.config.hbase_sink import HBaseSink
from milepost.config.kafka_sink import KafkaSink
from milepost.config.section import Section
from milepost.config.values.value import Count, Participant
from milepost.errors import PreflightError


class ConsoleSink(Section):
    """The driver's standard output, to look at a stream."""

    rows: Annotated[Count, Field(ge=1, le=100_000)] = Field(
        default=20, description="Most rows to print of one checkpoint."
    )

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


class PythonSink(Section):
    """A class of the user's own that takes every row, and part in every checkpoint."""

    python: Participant = Field(description="The class, as module:Class.")

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


SinkKind = HBaseSink | KafkaSink | ConsoleSink | PythonSink


class Sink(Section):
    """Where rows go."""

    # Not by the names of their keys: `hbase` is the sink itself, for those who work with no other.
    to_hbase: HBaseSink | None = Field(default=None, alias="hbase", description="A table of HBase.")
    to_kafka: KafkaSink | None = Field(default=None, alias="kafka", description="A topic of Kafka.")
    to_console: ConsoleSink | None = Field(
        default=None, alias="console", description="The driver's standard output."
    )
    to_python: Participant | None = Field(
        default=None, alias="python", description="A class of your own; see docs/sinks.md."
    )

    @property
    def kind(self) -> SinkKind:
        """The sink that is set."""
        kind = next(iter(self._set().values()))
        return PythonSink(python=kind) if isinstance(kind, str) else kind

    @property
    def key(self) -> str:
        """The key it stands under, such as sink.hbase."""
        return f"sink.{next(iter(self._set()))}"

    @property
    def hbase(self) -> HBaseSink:
        """The table of HBase; a job whose rows go elsewhere is refused."""
        if self.to_hbase is None:
            raise PreflightError(
                f"This needs a job whose sink is hbase, and its sink is {self.key.removeprefix('sink.')}",
                why="it works with the table that the job writes",
                fix="Use it with a pipeline that has sink.hbase",
            )
        return self.to_hbase

    def _set(self) -> dict[str, HBaseSink | KafkaSink | ConsoleSink | str]:
        fields = type(self).model_fields.items()
        found = {field.alias or name: getattr(self, name) for name, field in fields}
        return {key: kind for key, kind in found.items() if kind is not None}

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the fault of a sink that is none, or several."""
        found = list(self._set())
        if not found:
            keys = [field.alias or name for name, field in type(self).model_fields.items()]
            yield tuple(keys), f"is required, or {', '.join(keys[1:])}"
        elif len(found) > 1:
            yield (found[1], *found), f"cannot stand beside {found[0]}; keep one of the two"


def as_sink(value: Any) -> Any:
    """Let Python give a sink itself where the file names its kind first."""
    if isinstance(value, PythonSink):
        return {"python": value.python}
    kinds = {HBaseSink: "hbase", KafkaSink: "kafka", ConsoleSink: "console"}
    return {kinds[type(value)]: value} if type(value) in kinds else value
