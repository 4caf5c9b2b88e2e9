"""One chain of participants: a thread while there is something to run, and a queue of what is to be run on it."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants.participant import Member

Step = Callable[[Member], None]
"""Runs one hook of one participant, and raises what is wrong with it."""

_LONGEST_QUEUE = 100
"""A chain that hangs forever must not fill the memory with notifications; the oldest one is dropped."""

_log = logging.getLogger(__name__)


class Call:
    """One call of a hook over all chains: which participants have not returned, and whether the call is over."""

    def __init__(self, hook: str, checkpoint_id: CheckpointId | None, names: Iterable[str]) -> None:
        self.hook = hook
        self.checkpoint_id = checkpoint_id
        self.settled = threading.Event()
        """There is nothing more to wait for."""
        self.failures: dict[str, BaseException] = {}
        """What participants raised before the call was over, in order."""
        self.is_over = False
        """The caller no longer waits; later results are ignored."""
        self._missing = dict.fromkeys(names)
        self._lock = threading.Lock()
        if not self._missing:
            self.settled.set()

    def __str__(self) -> str:
        """Return the call as part of a sentence."""
        return self.hook if self.checkpoint_id is None else f"{self.hook} of checkpoint {self.checkpoint_id}"

    def returned(self, name: str, error: BaseException | None = None) -> None:
        """Take note that a participant has returned, or raised."""
        with self._lock:
            is_late = self.is_over
            if not is_late:
                self._missing.pop(name, None)
                if error is not None:
                    self.failures[name] = error
            if not self._missing:
                self.settled.set()
        if is_late and error is not None:
            # Only the type: secrets in the message of a user's error have not been masked here.
            kind = type(error.__cause__ or error).__qualname__
            _log.warning("Participant %r ended %s with %s after the call was over.", name, self, kind)

    def end(self) -> tuple[str, ...]:
        """Stop waiting; return the participants that have not returned."""
        with self._lock:
            self.is_over = True
            return tuple(self._missing)


@dataclass(frozen=True, slots=True)
class Running:
    """The hook that a chain is in right now."""

    participant: str
    call: Call

    def __str__(self) -> str:
        """Return the participant and its hook, as a sentence without a full stop."""
        return f"{self.participant!r} has not returned from {self.call}"


class Chain:
    """Participants whose hooks run one after the other and never two at a time.

    The thread ends when nothing is left to run, so an idle job has none; it is a daemon, so one that hangs
    keeps no process alive.
    """

    def __init__(self, members: tuple[Member, ...]) -> None:
        self.members = members
        self.running: Running | None = None
        self._queue: deque[Callable[[], None]] = deque(maxlen=_LONGEST_QUEUE)
        self._has_thread = False
        self._lock = threading.Lock()

    @property
    def given_up(self) -> Running | None:
        """Return the hook that this chain still runs although its caller no longer waits."""
        running = self.running
        return running if running is not None and running.call.is_over else None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the members' names, in order."""
        return tuple(member.name for member in self.members)

    def having(self, hook: str) -> tuple[Member, ...]:
        """Return the members that have the hook, in order."""
        return tuple(member for member in self.members if hook in member.hooks)

    def run(self, members: tuple[Member, ...], call: Call, step: Step) -> None:
        """Run the step for one member after the other, until one raises or the call is over."""
        if members:
            self._post(lambda: self._run(members, call, step))

    def tell(self, members: tuple[Member, ...], call: Call, step: Step) -> None:
        """Run the step for every member, even after a failure or after the call is over."""
        if members:
            self._post(lambda: self._tell(members, call, step))

    def _run(self, members: tuple[Member, ...], call: Call, step: Step) -> None:
        for member in members:
            if call.is_over:
                return
            error = self._step(member, call, step)
            call.returned(member.name, error)
            if error is not None:
                call.settled.set()
                return

    def _tell(self, members: tuple[Member, ...], call: Call, step: Step) -> None:
        for member in members:
            call.returned(member.name, self._step(member, call, step))

    def _step(self, member: Member, call: Call, step: Step) -> BaseException | None:
        """Return what the step raised: nothing a participant does, not even `sys.exit`, ends the thread.

        The chain is marked as free before the call is notified, so the caller finds it free.
        """
        self.running = Running(member.name, call)
        try:
            step(member)
        except BaseException as error:
            return error
        finally:
            self.running = None
        return None

    def _post(self, task: Callable[[], None]) -> None:
        with self._lock:
            if not self._has_thread:
                # It waits for this lock; and one that cannot be started leaves nothing behind.
                name = f"milepost-chain-{self.members[0].name}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
                self._has_thread = True
            self._queue.append(task)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    self._has_thread = False
                    return
                task = self._queue.popleft()
            task()
