"""A line for every change that was asked of a job: when, what, from where, and how it was answered."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import dataclass
from typing import Any

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.files import layout as names
from milepost.checkpoint.files.store import Store

log = logging.getLogger(__name__)

ROTATE_AT = 2 * 1024 * 1024
_LONGEST = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A request with a valid token that was to change something."""

    method: str
    path: str
    client: str
    body: bytes
    status: int


class Audit:
    """The audit log of one checkpoint directory, of bounded size."""

    def __init__(self, store: Store, *, rotate_at: int = ROTATE_AT) -> None:
        """Write nothing yet."""
        self._store = store
        self._rotate_at = rotate_at
        self._lock = threading.Lock()

    def write(self, change: Change) -> None:
        """Append a line; a disk that is full must not keep anybody from cancelling."""
        line = json.dumps(_document(change), separators=(",", ":")).encode()
        try:
            with self._lock:
                size = self._store.size(names.AUDIT)
                if size and size + len(line) > self._rotate_at:
                    self._store.move(names.AUDIT, names.OLDER_AUDIT)
                self._store.append(names.AUDIT, line)
        except OSError as error:
            log.warning("A change was not written to the audit log: %s", error)


def _document(change: Change) -> dict[str, Any]:
    return {
        "at": utc_now().isoformat(),
        "principal": "token",
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
