"""`restart`: what happens when the job fails; Flink's strategies with Flink's options and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from milepost.config.section import Section, kebab_case
from milepost.config.values.value import (
    Count,
    Duration,
    PositiveDuration,
    Shown,
)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


_Number = Annotated[float, BeforeValidator(_number), Shown("number")]
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
    """What happens when the job fails; each option belongs to the strategies that its line names."""

    strategy: Literal["none", "fixed-delay", "failure-rate", "exponential-delay"] = Field(
        default="exponential-delay",
        description="How a failed job is started again from its newest checkpoint.",
    )
    attempts: Annotated[Count, Field(ge=0)] = Field(
        default=1, description="fixed-delay: restarts before the job stays failed."
    )
    delay: Duration = Field(
        default=timedelta(seconds=1), description="fixed-delay, failure-rate: time before a restart."
    )
    max_failures_per_interval: Annotated[Count, Field(ge=0)] = Field(
        default=1, description="failure-rate: failures in one interval before the job stays failed."
    )
    failure_rate_interval: PositiveDuration = Field(
        default=timedelta(minutes=1), description="failure-rate: the interval in which failures are counted."
    )
    initial_backoff: PositiveDuration = Field(
        default=timedelta(seconds=1), description="exponential-delay: time before the first restart."
    )
    max_backoff: PositiveDuration = Field(
        default=timedelta(minutes=1), description="exponential-delay: longest time before a restart."
    )
    backoff_multiplier: Annotated[_Number, Field(ge=1)] = Field(
        default=1.5, description="exponential-delay: how much longer each time is than the one before."
    )
    reset_backoff_threshold: PositiveDuration = Field(
        default=timedelta(hours=1),
        description="exponential-delay: time without a failure after which it starts anew.",
    )
    jitter_factor: Annotated[_Number, Field(ge=0, le=1)] = Field(
        default=0.1, description="exponential-delay: share by which each time is varied at random."
    )
    attempts_before_reset_backoff: Annotated[Count, Field(ge=1)] | None = Field(
        default=None,
        description="exponential-delay: restarts in a row before the job stays failed; absent: no limit.",
    )

    if TYPE_CHECKING:
        # Values may be given as people write them, so the fields' types are not the parameters'.
        def __init__(self, /, **values: Any) -> None: ...

    def together(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the options that the strategy does not have."""
        for name in sorted(self.model_fields_set - {"strategy"}):
            key = kebab_case(name)
            owners = [strategy for strategy, options in _OPTIONS.items() if key in options]
            if self.strategy not in owners:
                yield (key, "strategy"), f"belongs to {' and '.join(owners)}, and strategy is {self.strategy}"
        if self.max_backoff < self.initial_backoff:
            yield ("max-backoff", "initial-backoff"), "is shorter than initial-backoff; raise it"

    def redacted(self) -> dict[str, Any]:
        """Return the strategy and its own options: those of the others would be refused if they were read again."""
        shown = ("strategy", *_OPTIONS[self.strategy])
        return {key: value for key, value in super().redacted().items() if key in shown}


class NoRestart(Restart):
    """A failed job stays failed."""

    strategy: Literal["none"] = "none"

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


class FixedDelay(Restart):
    """So many restarts, each after the same time."""

    strategy: Literal["fixed-delay"] = "fixed-delay"

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


class FailureRate(Restart):
    """Restarts as long as failures are rare enough."""

    strategy: Literal["failure-rate"] = "failure-rate"

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...


class ExponentialDelay(Restart):
    """Restarts after ever longer times."""

    strategy: Literal["exponential-delay"] = "exponential-delay"

    if TYPE_CHECKING:

        def __init__(self, /, **values: Any) -> None: ...
