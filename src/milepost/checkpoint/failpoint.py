"""Points in a checkpoint where a test makes the driver die, fail or stop, named by their step.

The environment sets them: `MILEPOST_FAILPOINTS="6-seal-before@3=kill"`, comma separated, where `@3` is the third time
in this process and the actions are kill, raise and stop. Java has the same in `io.milepost.job.Failpoint`.
"""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Mapping
from functools import cache

from milepost.errors import ConfigError, JobFailedError

VARIABLE = "MILEPOST_FAILPOINTS"

_RULE = re.compile(r"(?P<name>[1-9]-[a-z-]+)(@(?P<time>[1-9]\d{0,8}))?=(?P<action>kill|raise|stop)")


class Failpoints:
    """The failpoints that are armed, and how often each name has been reached."""

    def __init__(self, actions: Mapping[tuple[str, int], str]) -> None:
        """Take the action of each name at each time."""
        self._actions = dict(actions)
        self._reached: Counter[str] = Counter()

    @classmethod
    def parse(cls, text: str) -> Failpoints:
        """Parse the value of the environment variable, or refuse it."""
        actions = {}
        for part in filter(None, text.split(",")):
            rule = _RULE.fullmatch(part.strip())
            if rule is None:
                raise ConfigError(
                    f"{VARIABLE} has {part.strip()!r}",
                    fix="Use the form 6-seal-before@3=kill (or raise, or stop)",
                )
            actions[rule["name"], int(rule["time"] or 1)] = rule["action"]
        return cls(actions)

    def due(self, name: str) -> str | None:
        """Count one more arrival, and return the action that is due."""
        if not self._actions:
            return None
        self._reached[name] += 1
        return self._actions.get((name, self._reached[name]))


def reach(name: str) -> None:
    """Run the action that the environment sets for this point; without one, do nothing."""
    action = _armed().due(name)
    if action == "raise":
        raise JobFailedError(f"Failpoint {name} was reached", fix=f"Unset {VARIABLE}")
    if action is not None:
        _signal(signal.SIGKILL if action == "kill" else signal.SIGSTOP)


@cache
def _armed() -> Failpoints:
    return Failpoints.parse(os.environ.get(VARIABLE, ""))


def _signal(number: signal.Signals) -> None:
    """Send a signal to the whole driver where this process leads a group, else to this process alone."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), number)
    else:
        os.kill(os.getpid(), number)
