"""Writes docs/reference/config.md from the models: `python -m milepost.config.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from milepost.config.model import Config
from milepost.config.section import Section
from milepost.config.values.units import format_duration, format_size
from milepost.config.values.value import TypeLabel

_HEAD = """\
# Configuration

Every key of a job's YAML file. Written by `make docs` from the code; do not edit.

- **Durations** need a unit: `250ms`, `10s`, `5 min`, `1h30m`. **Sizes** are binary: `64kb`, `8mb`, `1g`.
- `${env:NAME}` and `${file:path}` can be used in any text; their values are never printed. `$${` is a literal `${`.
- `milepost run FILE --set key.path=value` overrides a key before validation; an empty value removes it.
- In Python the same names are written in snake_case: `KafkaSource(bootstrap_servers="localhost:9092", …)`.
- Relative paths, also those of `--set`, are relative to the folder of the file; in Python, to the working directory.
- Unknown keys are errors.

| key | type | default | meaning |
|---|---|---|---|
"""


def render() -> str:
    """Return the page."""
    rows = "".join(
        f"| `{key}` | {kind} | {default} | {text} |\n" for key, kind, default, text in _rows(Config, "")
    )
    return _HEAD + rows


def _rows(section: type[Section], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    hints = get_type_hints(section, include_extras=True)
    for name, field in section.model_fields.items():
        key, inner = prefix + (field.alias or name), _section_in(hints[name])
        if inner is None:
            yield key, _kind(hints[name]), _default(field, hints[name]), _cell(field.description or "")
        else:
            # A section whose keys all have defaults can be left out.
            default = "required" if field.is_required() else "—"
            yield key, "section", default, _cell(field.description or "")
            yield from _rows(inner, f"{key}.")


def _section_in(annotation: Any) -> type[Section] | None:
    """Return the section of a key; None for the shapes of a union, which are shown as its type."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    if get_origin(annotation) is Annotated:
        return _section_in(get_args(annotation)[0])
    present = [a for a in get_args(annotation) if a is not type(None)]
    is_optional = get_origin(annotation) in (Union, UnionType) and len(present) == 1
    return _section_in(present[0]) if is_optional else None


def _kind(annotation: Any) -> str:
    """Return the name of a type; a type without a name is an error."""
    label = next((m.label for m in reversed(_metadata(annotation)) if isinstance(m, TypeLabel)), None)
    if label is not None:
        return _cell(label)
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return ", ".join(_kind(a) for a in get_args(annotation) if a is not type(None))
    if isinstance(annotation, type) and issubclass(annotation, Section):
        (name,) = annotation.model_fields
        hint = get_type_hints(annotation, include_extras=True)[name]
        return f"`{{{annotation.model_fields[name].alias}: {_kind(hint).strip('`')}}}`"
    raise TypeError(f"{annotation!r} has no name for the reference page; give it a TypeLabel")


def _metadata(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        return (*_metadata(inner), *metadata)
    return ()


def _default(field: FieldInfo, annotation: Any) -> str:
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "default" in extra:
        return _cell(str(extra["default"]))
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return "—"
    if isinstance(value, timedelta):
        return f"`{format_duration(value)}`"
    if any(isinstance(m, TypeLabel) and m.label == "size" for m in _metadata(annotation)):
        return f"`{format_size(value)}`"
    return f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render())
