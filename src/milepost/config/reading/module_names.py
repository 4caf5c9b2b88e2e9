"""Determines which names a Python module defines from its source, without running it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec

# Names that a module may use to define others at run time.
_DYNAMIC = frozenset({"globals", "vars", "locals", "exec", "setattr", "__dict__", "__getattr__"})


def bound_names(module_name: str) -> frozenset[str] | None:
    """Return every name that the source of a module binds anywhere; None if that cannot be determined.

    Raises:
        ImportError: the module does not exist.
        SyntaxError, ValueError: the source cannot be compiled.
    """
    known = sys.modules.get(module_name)
    if known is not None:
        return None if hasattr(known, "__getattr__") else frozenset(dir(known))
    spec = _find_module(module_name)
    if spec is None or type(spec.loader) is not SourceFileLoader:
        return None
    source = spec.loader.get_source(module_name)
    tree = ast.parse(source or "", filename=spec.origin or module_name)
    names = frozenset(_find_bound(tree))
    return None if "*" in names or _is_dynamic(tree) else names


def _find_module(module_name: str) -> ModuleSpec | None:
    """Return the spec of a module without importing its packages; None if only an import can find it."""
    first, *rest = module_name.split(".")
    spec = find_spec(first)
    for depth, _ in enumerate(rest, start=2):
        if spec is None:
            break
        if type(spec.loader) is not SourceFileLoader:
            return None  # a namespace package, or a custom finder
        spec = PathFinder.find_spec(".".join([first, *rest][:depth]), spec.submodule_search_locations or [])
    if spec is None:
        raise ModuleNotFoundError(f"No module named {module_name!r}", name=module_name)
    return spec


def _find_bound(tree: ast.Module) -> Iterator[str]:
    yield from ("__name__", "__doc__", "__file__")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0]


def _is_dynamic(tree: ast.Module) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in _DYNAMIC)
        or (isinstance(node, ast.Attribute) and node.attr in _DYNAMIC)
        or (isinstance(node, ast.FunctionDef) and node.name in _DYNAMIC)
        for node in ast.walk(tree)
    )
