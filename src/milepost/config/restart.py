"""`restart`: Flink's restart strategies with Flink's options and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from milepost.config.reading.faults import KeyFault
from milepost.config.section import Section, kebab_case
from milepost.config.values.value import (
    Count,
    Duration,
    PositiveDuration,
    TypeLabel,
)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


_Number = Annotated[float, BeforeValidator(_number), TypeLabel("number")]
_OPTIONS = {
    "none": (),
    "fixed-delay": ("attempts", "delay"),
    "failure-rate": ("max-failures-per-interval", "failure-rate-interval", "delay"),
    "exponential-delay": (
        "initial-backoff",
        "max-backoff",
        "backoff-multiplier",
        "reset-backoff-threshold",
        "jitter-factor",
        "attempts-before-reset-backoff",
    ),
}


class Restart(Section):
    """How the job restarts after a failure; each option applies to the strategies that its description names."""

    strategy: Literal["none", "fixed-delay", "failure-rate", "exponential-delay"] = Field(
        default="exponential-delay",
        description="How a failed job is restarted from its newest checkpoint.",
    )
    attempts: Annotated[Count, Field(ge=0)] = Field(
        default=1, description="fixed-delay: number of restarts before the job fails permanently."
    )
    delay: Duration = Field(
        default=timedelta(seconds=1), description="fixed-delay, failure-rate: delay before a restart."
    )
    max_failures_per_interval: Annotated[Count, Field(ge=0)] = Field(
        default=1,
        description="failure-rate: number of failures per interval before the job fails permanently.",
    )
    failure_rate_interval: PositiveDuration = Field(
        default=timedelta(minutes=1), description="failure-rate: interval for counting failures."
    )
    initial_backoff: PositiveDuration = Field(
        default=timedelta(seconds=1), description="exponential-delay: delay before the first restart."
    )
    max_backoff: PositiveDuration = Field(
        default=timedelta(minutes=1), description="exponential-delay: maximum delay before a restart."
    )
    backoff_multiplier: Annotated[_Number, Field(ge=1)] = Field(
        default=1.5, description="exponential-delay: factor by which the delay grows after each failure."
    )
    reset_backoff_threshold: PositiveDuration = Field(
        default=timedelta(hours=1),
        description="exponential-delay: time without a failure after which the delay is reset to initial-backoff.",
    )
    jitter_factor: Annotated[_Number, Field(ge=0, le=1)] = Field(
        default=0.1, description="exponential-delay: random variation of the delay, as a fraction of it."
    )
    attempts_before_reset_backoff: Annotated[Count, Field(ge=1)] | None = Field(
        default=None,
        description="exponential-delay: consecutive restarts before the job fails permanently; absent: no limit.",
    )

    if TYPE_CHECKING:
        # Values are accepted as users write them, so parameter types differ from field types.
        def __init__(self, /, **values: Any) -> None: ...

    def find_faults(self) -> Iterator[KeyFault]:
        """Refuse the options of other strategies."""
        for name in sorted(self.model_fields_set - {"strategy"}):
            key = kebab_case(name)
            owners = [strategy for strategy, options in _OPTIONS.items() if key in options]
            if self.strategy not in owners:
                yield KeyFault(
                    (key, "strategy"), f"applies to {' and '.join(owners)}, but strategy is {self.strategy}"
                )
        if self.max_backoff < self.initial_backoff:
            yield KeyFault(("max-backoff", "initial-backoff"), "is shorter than initial-backoff; raise it")

    def redacted(self) -> dict[str, Any]:
        """Return the strategy and its own options; options of other strategies could not be read back."""
        shown = ("strategy", *_OPTIONS[self.strategy])
        return {key: value for key, value in super().redacted().items() if key in shown}


class NoRestart(Restart):
    """A failed job stays failed."""

    strategy: Literal["none"] = "none"

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


class FixedDelay(Restart):
    """A fixed number of restarts, each after the same delay."""

    strategy: Literal["fixed-delay"] = "fixed-delay"

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


class FailureRate(Restart):
    """Restarts until failures exceed a rate."""

    strategy: Literal["failure-rate"] = "failure-rate"

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


class ExponentialDelay(Restart):
    """Restarts after exponentially growing delays."""

    strategy: Literal["exponential-delay"] = "exponential-delay"

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...
