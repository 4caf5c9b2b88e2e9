"""Restricts the target of a savepoint to the configured directory."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from urllib.parse import urlsplit

from milepost.checkpoint.store.layout import local_layout
from milepost.rest.server.refusal import Refusal

_LONGEST = 1024


def resolve_directory(
    root: str | None, wanted: str | None, field: str, granted: Collection[str] = ()
) -> str | None:
    """Return the directory for a savepoint, None for the configured one; `field` is its name in the request.

    If no directory is configured, those in `granted` are allowed: the user who runs the job has named them.
    """
    if root is None and wanted is not None and wanted in granted:
        return wanted
    if root is None:
        # Flink's message; a directory that only the request names is never trusted.
        raise Refusal(
            400,
            "Config key [execution.checkpointing.savepoint-dir] is not set. "
            + (
                f"Property [{field}] must be provided."
                if wanted is None
                else f"Set checkpointing.savepoint-dir; property [{field}] must be inside it."
            ),
        )
    if wanted is None:
        return None
    if not is_inside(root, wanted):
        raise Refusal(400, f"Property [{field}] must be inside the configured savepoint directory.")
    return wanted


def is_inside(root: str, wanted: str) -> bool:
    """Return whether a path or URI resolves to the root or below it; symbolic links are followed."""
    if len(wanted) > _LONGEST or any(ord(letter) < 32 for letter in wanted) or "\\" in wanted:
        return False
    try:
        root_layout, wanted_layout = local_layout(root), local_layout(wanted)
        if root_layout is not None and wanted_layout is not None:
            if urlsplit(wanted).netloc or not wanted_layout.root.is_absolute():
                return False
            base, path = root_layout.root.resolve(), wanted_layout.root.resolve()
            return path == base or base in path.parents
        return root_layout is None and wanted_layout is None and _is_below(root, wanted)
    except (ValueError, OSError):
        return False


def _is_below(root: str, wanted: str) -> bool:
    """Return the same for object stores: scheme and authority match, and the path does not go up."""
    base, asked = urlsplit(root), urlsplit(wanted)
    if (
        (base.scheme, base.netloc) != (asked.scheme, asked.netloc)
        or "%" in asked.path
        or asked.query
        or asked.fragment
    ):
        return False
    if posixpath.normpath(asked.path) != asked.path.rstrip("/"):
        return False
    return f"{asked.path.rstrip('/')}/".startswith(f"{base.path.rstrip('/')}/")
