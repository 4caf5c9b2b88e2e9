"""`source.kafka.watermark`: how the watermark advances, which closes windows and identifies late records."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from milepost.config.reading.faults import KeyFault
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
    """How the watermark advances; each option applies to the strategies that its description names."""

    strategy: Literal["none", "periodic", "punctuated", "per-partition"] = Field(
        default="none",
        description="Record that the watermark follows; periodic: the newest one; punctuated: the newest one that "
        "carries a watermark; per-partition: the newest one of the slowest partition.",
    )
    column: Column | None = Field(
        default=None, description="All but none: TIMESTAMP column with the event time."
    )
    delay: Duration | None = Field(
        default=None,
        description="periodic, per-partition, punctuated: delay of the watermark behind the event time.",
        json_schema_extra={"default": "required; punctuated: `0s`"},
    )
    when: Text | None = Field(
        default=None, description="punctuated: SQL predicate that selects the records that carry a watermark."
    )

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    @property
    def lateness(self) -> timedelta:
        """The delay of the watermark behind the event time."""
        return self.delay or timedelta(0)

    def find_faults(self) -> Iterator[KeyFault]:
        """Check that the options are those of the strategy."""
        for key in _REQUIRED[self.strategy]:
            if getattr(self, key) is None:
                yield KeyFault((key, "strategy"), f"is required if strategy is {self.strategy}")
        for name in sorted(self.model_fields_set - {"strategy"}):
            key = kebab_case(name)
            if key not in _ALLOWED[self.strategy] and getattr(self, name) is not None:
                owners = [strategy for strategy, keys in _ALLOWED.items() if key in keys]
                yield KeyFault(
                    (key, "strategy"), f"applies to {', '.join(owners)}, but strategy is {self.strategy}"
                )


def _expand_word(value: Any) -> Any:
    """Expand a strategy that is written as a single word."""
    return {"strategy": value} if isinstance(value, str) else value


WatermarkKey = Annotated[Watermark, BeforeValidator(_expand_word)]
