"""What people want of the next checkpoint: to have it, and to store something in it.

Both go with the checkpoint from its trigger to its end. Whoever calls holds the coordinator's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future

from milepost.checkpoint.model import CompletedCheckpoint, Trigger, Value

Pin = Callable[[CompletedCheckpoint], None]
"""Holds the files of a checkpoint that has just completed; must be quick and must not raise."""


class Request(Future[CompletedCheckpoint]):
    """Somebody waits for a checkpoint; nobody can cancel it, since others may wait for the same one."""

    def __init__(self, pin: Pin | None = None, trigger: Trigger = Trigger.ON_DEMAND) -> None:
        """Take what must be done in step 8, where a savepoint is to be taken of it."""
        super().__init__()
        self.pin = pin
        self.trigger = trigger if pin is None else Trigger.SAVEPOINT
        self.set_running_or_notify_cancel()


class Requests:
    """Who waits for which checkpoint: the next one, the one that was triggered, or the one that is being sealed."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waiting: list[Request] = []
        self._triggered: list[Request] = []
        self._sealing: list[Request] = []

    def has(self, trigger: Trigger) -> bool:
        """Return whether somebody waits for the next one for this reason."""
        return any(request.trigger is trigger for request in self._waiting)

    def add(self, request: Request) -> None:
        """Somebody asks for a checkpoint."""
        self._waiting.append(request)

    def trigger(self) -> None:
        """Step 1: it is for everybody who has asked so far."""
        self._triggered, self._waiting = self._waiting, []

    def seal(self) -> None:
        """Step 6: the engine's batch is the one that was triggered."""
        self._sealing, self._triggered = self._triggered, []

    def complete(self) -> list[Request]:
        """Step 8: return who has what they asked for."""
        served, self._sealing = self._sealing, []
        return served

    def fail(self) -> list[Request]:
        """Return who has waited for what will not come."""
        failed, self._sealing, self._triggered = [*self._sealing, *self._triggered], [], []
        return failed

    def refuse(self) -> list[Request]:
        """Return who would wait for the next one, of which there is none."""
        refused, self._waiting = self._waiting, []
        return refused


class Attachments:
    """What is to be stored with the next checkpoint, and what has gone into the one that is being sealed."""

    def __init__(self) -> None:
        """Nothing is attached."""
        self._next: dict[str, Value] = {}
        self._taken: dict[str, Value] = {}

    def add(self, key: str, value: Value) -> None:
        """Attach a value to the next checkpoint."""
        self._next[key] = value

    def take(self) -> Mapping[str, Value]:
        """Step 6: return what goes into this checkpoint."""
        self._taken, self._next = self._next, {}
        return self._taken

    def complete(self) -> None:
        """Step 8: it is stored."""
        self._taken = {}

    def give_back(self) -> None:
        """The checkpoint failed: the next one has it, unless something newer was attached."""
        self._next, self._taken = {**self._taken, **self._next}, {}
