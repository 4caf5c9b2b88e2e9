"""Parses a DDL schema into plain types, independently of Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass

from milepost.errors import PreflightError

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([A-Za-z_0-9.]+)|('(?:[^'\\]|\\.|'')*')|([<>(),:]))")
_ALIASES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "varchar": "string",
    "char": "string",
    "timestamp_ltz": "timestamp",
}
_SIMPLE = frozenset(
    "string binary boolean tinyint smallint int bigint float double date timestamp timestamp_ntz".split()
)


@dataclass(frozen=True, slots=True)
class DataType:
    """A column type: its lower-case name and, for nested types, its parts."""

    name: str
    precision: int = 0
    scale: int = 0
    element: DataType | None = None
    fields: tuple[Field, ...] = ()

    @property
    def is_nested(self) -> bool:
        """Whether the type holds other values."""
        return self.name in ("array", "map", "struct")


@dataclass(frozen=True, slots=True)
class Field:
    """One named column of a schema."""

    name: str
    type: DataType
    nullable: bool = True


def parse_schema(ddl: str) -> tuple[Field, ...]:
    """Return the columns of a DDL string such as `id STRING NOT NULL, amount DECIMAL(10, 2)`."""
    return _Parser(ddl).columns()


class _Parser:
    """A recursive-descent parser for schemas."""

    def __init__(self, ddl: str) -> None:
        self.ddl = ddl
        self.tokens: list[tuple[str, bool]] = []
        self.at = 0
        end = len(ddl.rstrip())
        position = 0
        while position < end:
            match = _TOKEN.match(ddl, position)
            if match is None:
                raise self.error(f"unexpected character {ddl[position]!r}")
            position = match.end()
            quoted, word, text, mark = match.groups()
            self.tokens.append(
                (quoted.replace("``", "`"), True) if quoted is not None else (word or text or mark, False)
            )

    def error(self, why: str) -> PreflightError:
        return PreflightError(f"The schema {self.ddl!r} cannot be read", why=why, fix="Write it as Spark DDL")

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        if not token:
            raise self.error("unexpected end")
        self.at += 1
        return token

    def expect(self, mark: str) -> None:
        if self.take() != mark:
            raise self.error(f"expected {mark!r} before {self.peek() or 'the end'!r}")

    def skip(self, word: str) -> bool:
        if self.peek().lower() == word and not self.tokens[self.at][1]:
            self.at += 1
            return True
        return False

    def columns(self, end: str = "") -> tuple[Field, ...]:
        fields = [self.column()]
        while self.skip(","):
            fields.append(self.column())
        if end:
            self.expect(end)
        elif self.at < len(self.tokens):
            raise self.error(f"unexpected {self.peek()!r}")
        return tuple(fields)

    def column(self) -> Field:
        name = self.take()
        self.skip(":")
        data_type = self.type()
        nullable = True
        if self.skip("not"):
            self.expect_word("null")
            nullable = False
        if self.skip("comment"):
            self.take()
        return Field(name, data_type, nullable)

    def expect_word(self, word: str) -> None:
        if not self.skip(word):
            raise self.error(f"expected {word.upper()} before {self.peek() or 'the end'!r}")

    def type(self) -> DataType:
        word = self.take().lower()
        name = _ALIASES.get(word, word)
        if name == "decimal":
            precision, scale = self.numbers() or (10, 0)
            return DataType(name, precision=precision, scale=scale)
        if name == "array":
            self.expect("<")
            element = self.type()
            self.expect(">")
            return DataType(name, element=element)
        if name == "map":
            self.expect("<")
            key = Field("key", self.type(), nullable=False)
            self.expect(",")
            value = Field("value", self.type())
            self.expect(">")
            return DataType(name, fields=(key, value))
        if name == "struct":
            self.expect("<")
            return DataType(name, fields=self.columns(">"))
        if name not in _SIMPLE:
            raise self.error(f"type {word.upper()} is not supported by verify")
        self.numbers()
        return DataType(name)

    def numbers(self) -> tuple[int, int] | None:
        if not self.skip("("):
            return None
        first = int(self.take())
        second = int(self.take()) if self.skip(",") else 0
        self.expect(")")
        return first, second
