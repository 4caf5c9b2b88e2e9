"""The types of configuration values, each with its validation, its error message and its name in the docs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    ValidationInfo,
    WrapValidator,
)
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from milepost.config.reading.faults import TAG
from milepost.config.values.secret import Secret, is_sensitive, make_secret
from milepost.config.values.units import parse_duration, parse_size

JAVA_INT_MAX = 2**31 - 1
# The fields of the `_kafka` struct that may be part of a row key.
KAFKA_KEY_COLUMNS = ("_kafka.topic", "_kafka.partition", "_kafka.offset", "_kafka.key")
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata")

# Hadoop cannot write to these file systems.
_READ_ONLY = ("http", "https", "ftp", "jar", "har")

WORD = TAG + "word"


@dataclass(frozen=True)
class TypeLabel:
    """The name of a type of value on the reference page."""

    label: str


def by_shape(expected: str, shapes: Mapping[str, type[BaseModel]]) -> Discriminator:
    """Return a discriminator of a union: a member is a word, or a mapping with a key of its own."""

    def tag(value: Any) -> str | None:
        if isinstance(value, str):
            return WORD
        if isinstance(value, Mapping):
            return next((TAG + key for key in shapes if key in value or key.replace("-", "_") in value), None)
        return next((TAG + key for key, shape in shapes.items() if isinstance(value, shape)), None)

    return Discriminator(tag, custom_error_type="shape", custom_error_message=f"must be one of {expected}")


def _keep_secret(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    # pydantic converts subclasses of str to str, but a secret must stay one.
    text = handler(value)
    return value.with_text(text) if isinstance(value, Secret) else text


def _not_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    return value


def _require_text(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _positive(value: timedelta) -> timedelta:
    if not value:
        raise ValueError("must be greater than zero")
    return value


def matching(pattern: str, sentence: str) -> Callable[[str], str]:
    """Return a check that the full text matches; `sentence` describes what it must be."""
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(f"{text!r} {sentence}")
        return text

    return check


def _topic(name: str) -> str:
    if name in INTERNAL_TOPICS:
        raise ValueError(f"{name!r} is an internal topic of Kafka and cannot be used by a job")
    if name in (".", "..") or not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name):
        raise ValueError(f"{name!r} is not a topic name: letters, digits, '.', '_' and '-', at most 249")
    return name


def _column(name: str) -> str:
    if name == "_kafka" or name.startswith("_kafka."):
        raise ValueError(f"{name!r} is reserved by Milepost; select it under another name in transform.sql")
    return _require_text(name)


def _key_column(name: str) -> str:
    if name not in KAFKA_KEY_COLUMNS and (name == "_kafka" or name.startswith("_kafka.")):
        raise ValueError(
            f"{name!r} cannot be part of a row key; of _kafka only {', '.join(KAFKA_KEY_COLUMNS)} can"
        )
    return _require_text(name)


def split_commas(value: Any) -> Any:
    """Return a list for comma-separated text, as in options of Kafka and Spark."""
    if not isinstance(value, str):
        return value
    pieces = [piece.strip() for piece in value.split(",")] if value.strip() else []
    return [value.with_text(p) if isinstance(value, Secret) else p for p in pieces]


def _require_distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise ValueError("must not be empty")
    twice = sorted({repr(v) for v in values if values.count(v) > 1})
    if twice:
        raise ValueError(f"names {', '.join(twice)} more than once")
    return values


_SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::([0-9]{1,5}))?")


def servers(example: str, default_port: int | None = None) -> Callable[[Any], Any]:
    """Return a parser of `host:port,host:port`, or of a list of such addresses."""

    def read(value: Any) -> tuple[str, ...]:
        entries = split_commas(value)
        if not isinstance(entries, list | tuple) or not all(isinstance(e, str) for e in entries):
            raise ValueError(f"must be text such as {example}")
        if not entries:
            raise ValueError(f"is empty; write for example {example}")
        return _require_distinct(tuple(_server(entry, example, default_port) for entry in entries))

    return read


def _server(entry: str, example: str, default_port: int | None) -> str:
    if "://" in entry:
        raise ValueError(f"{entry!r} must be host:port without a scheme, for example {example}")
    match = _SERVER.fullmatch(entry)
    if match is None:
        raise ValueError(f"{entry!r} is not host:port; write for example {example}")
    if match[2] is None and default_port is None:
        raise ValueError(f"{entry!r} has no port; write for example {example}")
    port = int(match[2] or default_port or 0)
    if not 1 <= port <= 65535:
        raise ValueError(f"{entry!r} has a port outside 1 to 65535")
    text = f"{match[1]}:{port}"
    return entry.with_text(text) if isinstance(entry, Secret) else text


def _moment(value: Any) -> datetime:
    example = "write for example 2026-01-01T00:00:00Z"
    if isinstance(value, str):
        text = str(value).strip()
        try:
            value = datetime.fromisoformat(f"{text[:-1]}+00:00" if text[-1:] in "Zz" else text)
        except ValueError:
            raise ValueError(f"is not a timestamp; {example}") from None
    if not isinstance(value, datetime):
        raise ValueError(f"must be a timestamp; {example}")
    if value.tzinfo is None:
        raise ValueError(f"has no time zone; {example}")
    if value < datetime(1970, 1, 1, tzinfo=timezone.utc):
        raise ValueError("is before 1970, the start of Kafka's timestamps")
    try:
        return value.astimezone(timezone.utc)
    except OverflowError:
        raise ValueError("is after the year 9999") from None


def path_beside(text: str, info: ValidationInfo) -> str:
    """Return an absolute path; relative paths start at the folder of the file, in Python at the working directory.

    Symbolic links are resolved, so that a directory has one name.
    """
    if text.startswith("/"):
        return text
    try:
        path = ((info.context or {}).get("folder", Path()) / Path(text).expanduser()).resolve()
    except RuntimeError:
        raise ValueError(f"{text!r} names a home directory that does not exist") from None
    return text.with_text(str(path)) if isinstance(text, Secret) else str(path)


def _directory(text: str, info: ValidationInfo) -> str:
    scheme, separator, rest = text.partition(":")
    if not separator or "/" in scheme:
        text = path_beside(text, info)
    elif not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) or not rest.startswith("/"):
        raise ValueError(f"{text!r} is neither a path nor a URI such as file:///… or hdfs://…")
    elif scheme in _READ_ONLY:
        raise ValueError(f"{scheme} cannot be written to; use file:, hdfs: or an object store")
    elif scheme == "file" and re.match(r"//[^/]", rest):
        raise ValueError(f"{text!r} names a host; write a local directory with three slashes, file:///…")
    return text.rstrip("/") if re.search(r"[^/:]/+$", text) else text


def _property_text(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return _keep_secret(value, handler)


def _mask_sensitive(values: Mapping[str, str]) -> Mapping[str, str]:
    return {
        k: v if isinstance(v, Secret) or not is_sensitive(k, v) else make_secret(v) for k, v in values.items()
    }


Text = Annotated[str, WrapValidator(_keep_secret), AfterValidator(_require_text), TypeLabel("text")]
Directory = Annotated[Text, AfterValidator(_directory), TypeLabel("path or URI")]
Duration = Annotated[timedelta, BeforeValidator(parse_duration), TypeLabel("duration")]
PositiveDuration = Annotated[Duration, AfterValidator(_positive), TypeLabel("duration")]
Size = Annotated[int, BeforeValidator(parse_size), Field(ge=1, le=JAVA_INT_MAX), TypeLabel("size")]
Count = Annotated[int, BeforeValidator(_not_bool), Field(le=2**63 - 1), TypeLabel("number")]
Moment = Annotated[datetime, BeforeValidator(_moment), TypeLabel("time")]
Topic = Annotated[Text, AfterValidator(_topic), TypeLabel("topic")]
Topics = Annotated[
    tuple[Topic, ...],
    BeforeValidator(split_commas),
    AfterValidator(_require_distinct),
    TypeLabel("list of topics"),
]
Column = Annotated[Text, AfterValidator(_column), TypeLabel("column")]
Columns = Annotated[
    tuple[Column, ...],
    BeforeValidator(split_commas),
    AfterValidator(_require_distinct),
    TypeLabel("list of columns"),
]
KeyColumn = Annotated[Text, AfterValidator(_key_column), TypeLabel("column")]
KeyColumns = Annotated[
    tuple[KeyColumn, ...],
    BeforeValidator(split_commas),
    AfterValidator(_require_distinct),
    TypeLabel("list of columns"),
]
EntryPoint = Annotated[
    Text,
    AfterValidator(
        matching(
            r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*",
            "must be module:function, for example jobs.orders:clean",
        )
    ),
    TypeLabel("module:function"),
]
Participant = Annotated[
    Text,
    AfterValidator(
        matching(
            r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*",
            "must be module:name of an object, a class or a function, for example jobs.orders:Audit",
        )
    ),
    TypeLabel("module:name"),
]
PropertyValue = Annotated[str, WrapValidator(_property_text)]
MaskSensitive = AfterValidator(_mask_sensitive)
