"""Requests for the next checkpoint, and values to store in it.

Both follow the checkpoint from its trigger to its end. The caller holds the coordinator's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future

from milepost.checkpoint.model import CompletedCheckpoint, Trigger, Value

Pin = Callable[[CompletedCheckpoint], None]
"""Holds the files of a checkpoint that has just completed; must be quick and must not raise."""


class Request(Future[CompletedCheckpoint]):
    """A pending request for a checkpoint. It cannot be cancelled, since others may wait for the same one."""

    def __init__(self, pin: Pin | None = None, trigger: Trigger = Trigger.ON_DEMAND) -> None:
        """Take the action of step 8 if a savepoint is requested."""
        super().__init__()
        self.pin = pin
        self.trigger = trigger if pin is None else Trigger.SAVEPOINT
        self.set_running_or_notify_cancel()


class Requests:
    """Requests by checkpoint: the next one, the triggered one, or the one that is being sealed."""

    def __init__(self) -> None:
        """Start without requests."""
        self._waiting: list[Request] = []
        self._triggered: list[Request] = []
        self._sealing: list[Request] = []

    def has(self, trigger: Trigger) -> bool:
        """Return whether a request with this trigger waits for the next checkpoint."""
        return any(request.trigger is trigger for request in self._waiting)

    def add(self, request: Request) -> None:
        """Add a request for the next checkpoint."""
        self._waiting.append(request)

    def trigger(self) -> None:
        """Step 1: the checkpoint serves every request so far."""
        self._triggered, self._waiting = self._waiting, []

    def seal(self) -> None:
        """Step 6: the engine's batch is the triggered one."""
        self._sealing, self._triggered = self._triggered, []

    def complete(self) -> list[Request]:
        """Step 8: return the requests that are served."""
        served, self._sealing = self._sealing, []
        return served

    def fail(self) -> list[Request]:
        """Return the requests whose checkpoint failed."""
        failed, self._sealing, self._triggered = [*self._sealing, *self._triggered], [], []
        return failed

    def refuse(self) -> list[Request]:
        """Return the requests for a next checkpoint, which will not be triggered."""
        refused, self._waiting = self._waiting, []
        return refused


class Attachments:
    """Values for the next checkpoint, and those in the checkpoint that is being sealed."""

    def __init__(self) -> None:
        """Start without values."""
        self._next: dict[str, Value] = {}
        self._taken: dict[str, Value] = {}

    def add(self, key: str, value: Value) -> None:
        """Attach a value to the next checkpoint."""
        self._next[key] = value

    def take(self) -> Mapping[str, Value]:
        """Step 6: return the values of this checkpoint."""
        self._taken, self._next = self._next, {}
        return self._taken

    def complete(self) -> None:
        """Step 8: the values are stored."""
        self._taken = {}

    def give_back(self) -> None:
        """Keep the values of a failed checkpoint for the next one, unless newer ones were attached."""
        self._next, self._taken = {**self._taken, **self._next}, {}
