"""The static files of the dashboard. Only files listed at the start are served: requests never name file paths."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response

from milepost.rest.server.refusal import Refusal

router = APIRouter(include_in_schema=False)

PACKAGE = Path(str(files("milepost")))
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_LIBRARIES = {"vendor/chart.js": Path("jars", "web", "chart.umd.js")}
"""Libraries that `make jars` collects, by the name under which they are served."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the dashboard in memory."""

    body: bytes
    kind: str
    tag: str
    """The ETag."""

    @classmethod
    def read(cls, path: Path) -> Asset:
        """Read a file."""
        body = path.read_bytes()
        return cls(body, _KINDS[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def read_assets(package: Path) -> Mapping[str, Asset]:
    """Return every file of the dashboard by name; a missing library is omitted."""
    root = package / "web"
    own = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.suffix in _KINDS}
    libraries = {name: package / path for name, path in _LIBRARIES.items()}
    return {name: Asset.read(path) for name, path in {**own, **libraries}.items() if path.is_file()}


@cache
def assets() -> Mapping[str, Asset]:
    """Return the files of the installed package, read once."""
    return read_assets(PACKAGE)


IfNoneMatch = Annotated[str | None, Header()]


@router.get("/")
def page(request: Request, if_none_match: IfNoneMatch = None) -> Response:
    """Return the dashboard."""
    return _respond(request, "index.html", if_none_match)


@router.get("/web/{name:path}")
def asset(request: Request, name: str, if_none_match: IfNoneMatch = None) -> Response:
    """Return one file of the dashboard."""
    return _respond(request, name, if_none_match)


def _respond(request: Request, name: str, known: str | None) -> Response:
    listed: Mapping[str, Asset] = request.app.state.assets
    found = listed.get(name)
    if found is None:
        raise Refusal(404, "Not found.")
    headers = {"cache-control": "no-cache", "etag": found.tag}
    if known == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.kind, headers=headers)
