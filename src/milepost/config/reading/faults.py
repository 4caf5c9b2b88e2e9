"""Turns pydantic errors into messages for users: one fault per key, with its path and the fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from milepost.config.reading.document import Path, key_path
from milepost.config.values.secret import MASK, Secret, redact

# Prefix of the tags of union members: pydantic adds them to its locations, and no YAML can contain it.
TAG = "\0"
# Type of the pydantic error that carries the KeyFaults of a section.
KEY_FAULTS = "milepost_key_faults"

_SENTENCES = {
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping of keys to values",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "int_type": "must be a whole number",
    "less_than_equal": "must be at most {le}",
    "mapping_type": "must be a mapping of keys to values",
    "missing": "is required",
    "model_attributes_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "string_type": "must be text; put quotes around it",
    "tuple_type": "must be a list",
}


@dataclass(frozen=True, slots=True)
class KeyFault:
    """A fault that shows when keys are checked together."""

    keys: tuple[str, ...]
    """The keys that were checked, the one to change first."""
    message: str


@dataclass(frozen=True)
class Finding:
    """One fault of one key, before its line in the file is known."""

    path: Path
    message: str
    kind: str = ""
    # All keys that were checked together; `path` is the one to change.
    keys: tuple[str, ...] = ()
    # The path as the user wrote it.
    place: str = ""


def findings(error: ValidationError, model: type[BaseModel], values: Any) -> list[Finding]:
    """Return every fault in the error, in the order of the fields of the model; `values` is the input."""
    found = [f for details in error.errors(include_url=False) for f in _to_findings(details, model)]
    return [replace(f, place=key_path(_written_path(f.path, values))) for f in found]


def _to_findings(details: ErrorDetails, model: type[BaseModel]) -> Iterator[Finding]:
    path = tuple(part for part in details["loc"] if not (isinstance(part, str) and _is_internal(part)))
    kind, context = details["type"], details.get("ctx", {})
    if kind == "default_factory_not_called":
        return
    if kind == KEY_FAULTS:
        for fault in context["faults"]:
            yield Finding((*path, *fault.keys[0].split(".")), fault.message, kind=kind, keys=fault.keys)
    elif kind == "extra_forbidden":
        yield _unknown_key(path, details["loc"], model)
    elif kind == "value_error":
        yield Finding(path, str(context["error"]), kind=kind)
    elif kind == "literal_error":
        allowed = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        yield Finding(path, f"must be {_one_of(allowed)}{_instead(details['input'], allowed)}", kind=kind)
    elif details["input"] is None and kind != "missing":
        yield Finding(path, "has no value; give it one or remove the key", kind=kind)
    else:
        sentence = _SENTENCES[kind].format(**context) if kind in _SENTENCES else details["msg"]
        yield Finding(path, sentence, kind=kind)


def _written_path(path: Path, values: Any) -> Iterator[str | int]:
    """Yield the path with numeric keys, such as partitions, as text, and positions in a list as numbers."""
    for part in path:
        yield part if isinstance(values, list | tuple) else str(part)
        if isinstance(values, Mapping):
            values = values.get(part)
        else:
            values = values[part] if isinstance(values, list | tuple) and isinstance(part, int) else None


def _is_internal(part: str) -> bool:
    return part.startswith(TAG) or part == "[key]"


def _one_of(allowed: str) -> str:
    return f"one of {allowed}" if "," in allowed else allowed


def _instead(value: object, allowed: str) -> str:
    if isinstance(value, Secret):
        return f", not {MASK}"
    if not isinstance(value, str | int | float) or len(str(value)) > 60:
        return ""
    close = get_close_matches(str(value).lower().replace("_", "-"), allowed.split(", "), n=1)
    return f", not {value!r}" + (f"; did you mean {close[0]}?" if close else "")


def _unknown_key(path: Path, location: tuple[int | str, ...], model: type[BaseModel]) -> Finding:
    key = str(path[-1])
    section = _section_at(location[:-1], model)
    keys = [field.alias or name for name, field in section.model_fields.items()] if section else []
    close = get_close_matches(key.lower().replace("_", "-"), keys, n=1)
    hint = f"did you mean {close[0]}?" if close else f"valid keys are {', '.join(keys)}"
    return Finding(path, f"is not a known key; {hint}", kind="unknown_key")


def _section_at(location: tuple[int | str, ...], model: type[BaseModel]) -> type[BaseModel] | None:
    """Return the model that a location points into."""
    candidates: list[Any] = [model]
    for part in location:
        if isinstance(part, str) and _is_internal(part):
            candidates = [c for c in candidates if _tag_of(c) in (None, part)]
            continue
        candidates = [member for c in candidates for member in _step(c, part)]
    return next((_bare(c) for c in candidates if _is_model(_bare(c))), None)


def _step(candidate: Any, part: int | str) -> list[Any]:
    bare = _bare(candidate)
    if _is_model(bare):
        field = next((f for n, f in bare.model_fields.items() if part in (n, f.alias)), None)
        return members(field.annotation) if field else []
    # A mapping or a list of sections: the part is a name or an index, so only the element type counts.
    arguments = get_args(bare)
    return members(arguments[-1]) if arguments else []


def members(annotation: Any) -> list[Any]:
    """Return the members of a union, or the annotation itself."""
    bare = _bare(annotation)
    if get_origin(bare) in (Union, UnionType):
        return [m for argument in get_args(bare) for m in members(argument)]
    return [annotation]


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _tag_of(annotation: Any) -> str | None:
    tags = (getattr(m, "tag", None) for m in get_args(annotation)[1:])
    return next((t for t in tags if t), None) if get_origin(annotation) is Annotated else None


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def without_secrets(found: Finding, secrets: list[Secret]) -> Finding:
    """Return the finding with every secret in its message masked."""
    return replace(found, message=redact(found.message, secrets))
