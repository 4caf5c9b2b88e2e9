from __future__ import annotations

from typing import Any

import pytest

from milepost.config import FixedDelay, Restart
from milepost.errors import ConfigError


def test_exponential_delay_is_the_default_as_in_flink():
    assert Restart().strategy == "exponential-delay"


@pytest.mark.parametrize(
    ("values", "path", "sentence"),
    [
        ({"strategy": "sometimes"}, "strategy", "must be one of none, fixed-delay"),
        ({"strategy": "none", "attempts": 3}, "attempts", "applies to fixed-delay, but strategy is none"),
        ({"attempts": 3}, "attempts", "but strategy is exponential-delay"),
        ({"strategy": "fixed-delay", "jitter-factor": 0.1}, "jitter-factor", "applies to exponential-delay"),
        ({"strategy": "fixed-delay", "attempts": -1}, "attempts", "at least 0"),
        (
            {"strategy": "failure-rate", "failure-rate-interval": "0s"},
            "failure-rate-interval",
            "greater than zero",
        ),
        ({"backoff-multiplier": 0.5}, "backoff-multiplier", "at least 1"),
        ({"backoff-multiplier": "fast"}, "backoff-multiplier", "must be a number"),
        ({"jitter-factor": 2}, "jitter-factor", "at most 1"),
        ({"initial-backoff": "2 min"}, "max-backoff", "shorter than initial-backoff"),
    ],
)
def test_what_does_not_fit_is_named(values: dict[str, Any], path: str, sentence: str):
    with pytest.raises(ConfigError) as raised:
        Restart(**values)
    (fault,) = raised.value.faults
    assert fault.path == path
    assert sentence in fault.message


def test_the_python_names_say_the_strategy():
    assert FixedDelay(attempts=3, delay="10s").redacted()["strategy"] == "fixed-delay"
