"""`source.kafka.watermark`: how event time advances, so that windows close and late records are known."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from milepost.config.section import Section, kebab_case
from milepost.config.values.value import Column, Duration, Text

_REQUIRED = {
    "none": (),
    "periodic": ("column", "delay"),
    "punctuated": ("column", "when"),
    "per-partition": ("column", "delay"),
}
_ALLOWED = {**_REQUIRED, "punctuated": ("column", "when", "delay")}


class Watermark(Section):
    """How event time advances; each option belongs to the strategies that its line names."""

    strategy: Literal["none", "periodic", "punctuated", "per-partition"] = Field(
        default="none",
        description="none; periodic: behind the newest record; punctuated: behind the newest record that carries a "
        "watermark; per-partition: behind the slowest partition's newest record.",
    )
    column: Column | None = Field(
        default=None, description="All but none: the TIMESTAMP column that is the event time."
    )
    delay: Duration | None = Field(
        default=None,
        description="periodic, per-partition, punctuated: how far the watermark stays behind event time.",
        json_schema_extra={"default": "required; punctuated: `0s`"},
    )
    when: Text | None = Field(
        default=None, description="punctuated: SQL predicate that is true for records that carry a watermark."
    )

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def lateness(self) -> timedelta:
        """How far the watermark stays behind event time."""
        return self.delay or timedelta(0)

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the options that the strategy lacks or does not have."""
        for key in _REQUIRED[self.strategy]:
            if getattr(self, key) is None:
                yield (key, "strategy"), f"is required where strategy is {self.strategy}"
        for name in sorted(self.model_fields_set - {"strategy"}):
            key = kebab_case(name)
            if key not in _ALLOWED[self.strategy] and getattr(self, name) is not None:
                owners = [strategy for strategy, keys in _ALLOWED.items() if key in keys]
                yield (key, "strategy"), f"belongs to {', '.join(owners)}, and strategy is {self.strategy}"


def _by_word(value: Any) -> Any:
    """Return the section for a strategy that was written as a word alone."""
    return {"strategy": value} if isinstance(value, str) else value


WatermarkKey = Annotated[Watermark, BeforeValidator(_by_word)]
