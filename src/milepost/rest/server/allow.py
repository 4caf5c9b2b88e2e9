"""The methods of each path, for the `Allow` header of a 405: the framework has a route for each method."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.routing import compile_path

NOT_ALLOWED = 405


@dataclass(frozen=True, slots=True)
class AllowedMethods:
    """The paths of an application in matching order, each with its methods."""

    paths: tuple[tuple[re.Pattern[str], frozenset[str]], ...]

    @classmethod
    def of(cls, routers: Iterable[tuple[str, APIRouter]]) -> AllowedMethods:
        """Collect the paths of routers with their prefixes; a route that always returns 405 allows nothing."""
        found: dict[str, set[str]] = {}
        for prefix, router in routers:
            for route in router.routes:
                if isinstance(route, APIRoute):
                    methods = found.setdefault(prefix + route.path, set())
                    methods |= set() if route.status_code == NOT_ALLOWED else set(route.methods or ())
        return cls(tuple((compile_path(path)[0], frozenset(methods)) for path, methods in found.items()))

    def header(self, path: str) -> dict[str, str]:
        """Return the header for a 405: empty if the path allows no method, absent if the path is unknown."""
        for pattern, methods in self.paths:
            if pattern.match(path):
                return {"Allow": ", ".join(sorted(methods))}
        return {}
