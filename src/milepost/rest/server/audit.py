"""The audit log: time, request, client, principal and response status of every change that was requested.

Changes by the admin token and refused changes are in separate files, so that a client without that token cannot make
entries of the administrator rotate away.
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
    """A request that would change something."""

    method: str
    path: str
    client: str
    body: bytes
    status: int
    role: Role | None
    """The role of its token; None if it had no valid one."""


class Audit:
    """The audit log of one checkpoint directory, of bounded size."""

    def __init__(
        self, store: Store, *, rotate_at: int = ROTATE_AT, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._rotate_at = rotate_at
        self._lock = threading.Lock()
        self._clock = clock
        self._refilled_at = clock()
        self._allowance = float(REFUSED_AT_ONCE)
        self._skipped = 0

    def should_write(self, change: Change) -> bool:
        """Return whether to write an entry; refused changes are rate-limited, and the skipped ones counted."""
        if change.role is Role.ADMIN:
            return True
        with self._lock:
            now = self._clock()
            gained = (now - self._refilled_at) * REFUSED_PER_SECOND
            self._allowance = min(REFUSED_AT_ONCE, self._allowance + gained)
            self._refilled_at = now
            if self._allowance < 1:
                self._skipped += 1
                return False
            self._allowance -= 1
            return True

    def write(self, change: Change) -> None:
        """Append an entry; a full disk does not prevent the change itself."""
        name, older = _FILES[change.role is Role.ADMIN]
        try:
            with self._lock:
                line = json.dumps(
                    _document(change) | self._omitted_count(change), separators=(",", ":")
                ).encode()
                size = self._store.size(name)
                if size and size + len(line) > self._rotate_at:
                    self._store.move(name, older)
                self._store.append(name, line)
        except OSError as error:
            log.warning("A change was not written to the audit log: %s", error)

    def _omitted_count(self, change: Change) -> dict[str, int]:
        if change.role is Role.ADMIN or not self._skipped:
            return {}
        skipped, self._skipped = self._skipped, 0
        return {"left-out-before": skipped}


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
    """Return the parameters of a request: flat values, truncated; a body that is not JSON is not repeated."""
    if not body:
        return {}
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    return {str(key)[:64]: _truncate(value) for key, value in list(document.items())[:16]}


def _truncate(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) or value is None else str(value)[:_LONGEST]
