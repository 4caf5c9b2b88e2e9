"""A line for every change that was asked of a job: when, what, from where, by whom, and how it was answered.

What the admin token asked for and what was refused to others lie in files of their own: nobody without that token can
fill a file until the lines about those who have it are gone.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.store import Store
from milepost.rest.server.access import Role

log = logging.getLogger(__name__)

ROTATE_AT = 2 * 1024 * 1024
REFUSED_PER_SECOND = 1.0
REFUSED_AT_ONCE = 20
_LONGEST = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A request that was to change something."""

    method: str
    path: str
    client: str
    body: bytes
    status: int
    role: Role | None
    """What its token opens; None where it had no valid one."""


class Audit:
    """The audit log of one checkpoint directory, of bounded size."""

    def __init__(
        self, store: Store, *, rotate_at: int = ROTATE_AT, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Write nothing yet."""
        self._store = store
        self._rotate_at = rotate_at
        self._lock = threading.Lock()
        self._clock = clock
        self._looked_at = clock()
        self._allowance = float(REFUSED_AT_ONCE)
        self._left_out = 0

    def is_wanted(self, change: Change) -> bool:
        """Return whether a line is due; of a flood that is refused only some lines are, and the count of the others."""
        if change.role is Role.ADMIN:
            return True
        with self._lock:
            now = self._clock()
            gained = (now - self._looked_at) * REFUSED_PER_SECOND
            self._allowance = min(REFUSED_AT_ONCE, self._allowance + gained)
            self._looked_at = now
            if self._allowance < 1:
                self._left_out += 1
                return False
            self._allowance -= 1
            return True

    def write(self, change: Change) -> None:
        """Append a line; a disk that is full must not keep anybody from cancelling."""
        name, older = _FILES[change.role is Role.ADMIN]
        try:
            with self._lock:
                line = json.dumps(_document(change) | self._omitted(change), separators=(",", ":")).encode()
                size = self._store.size(name)
                if size and size + len(line) > self._rotate_at:
                    self._store.move(name, older)
                self._store.append(name, line)
        except OSError as error:
            log.warning("A change was not written to the audit log: %s", error)

    def _omitted(self, change: Change) -> dict[str, int]:
        if change.role is Role.ADMIN or not self._left_out:
            return {}
        left_out, self._left_out = self._left_out, 0
        return {"left-out-before": left_out}


_FILES = {True: (names.AUDIT, names.OLDER_AUDIT), False: (names.REFUSED, names.OLDER_REFUSED)}


def _document(change: Change) -> dict[str, Any]:
    return {
        "at": utc_now().isoformat(),
        "principal": change.role.value if change.role else None,
        "client": change.client,
        "method": change.method,
        "path": change.path[:_LONGEST],
        "parameters": _parameters(change.body),
        "status": change.status,
    }


def _parameters(body: bytes) -> Any:
    """Return what was asked for: flat values, each cut; what is no JSON is not repeated."""
    if not body:
        return {}
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    return {str(key)[:64]: _cut(value) for key, value in list(document.items())[:16]}


def _cut(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) or value is None else str(value)[:_LONGEST]
