"""Parses YAML text into plain values with the line of every key; refuses features that a configuration never needs.

The result has only text, numbers, true, false and null: no tags, objects or dates, and `no` stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from yaml import YAMLError
from yaml.composer import Composer
from yaml.error import MarkedYAMLError
from yaml.events import AliasEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from milepost.errors import ConfigFault

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_NODES = 20_000

Path = tuple[str | int, ...]

_INT = "tag:yaml.org,2002:int"
_FLOAT = "tag:yaml.org,2002:float"
_BOOL = "tag:yaml.org,2002:bool"
_NULL = "tag:yaml.org,2002:null"
_STR = "tag:yaml.org,2002:str"
_PLAIN_TAGS = {_STR, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", _INT, _FLOAT, _BOOL, _NULL}
_NULLS = {"", "~", "null", "Null", "NULL"}


class DocumentError(Exception):
    """The text cannot be parsed as a configuration."""

    def __init__(self, *faults: ConfigFault) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


@dataclass(frozen=True)
class Document:
    """The parsed values, and the line of each key."""

    values: Any
    lines: dict[Path, int] = field(default_factory=dict)


def parse_document(text: str) -> Document:
    """Return the values of a YAML text; raises DocumentError with the line of each fault."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise DocumentError(ConfigFault("", f"is larger than {MAX_BYTES >> 20} MiB, the maximum"))
    try:
        root = _Loader(text).get_single_node()
    except MarkedYAMLError as error:
        raise DocumentError(_syntax_fault(error)) from None
    except (YAMLError, ValueError) as error:
        # The error quotes the file, which may contain a password: report only its reason.
        reason = getattr(error, "reason", "it cannot be read")
        raise DocumentError(ConfigFault("", f"is not YAML: {reason}")) from None
    if root is None:
        return Document(None)
    builder = _Builder()
    values = builder.build(root, ())
    if builder.faults:
        raise DocumentError(*builder.faults)
    return Document(values, builder.lines)


def key_path(path: Iterable[str | int]) -> str:
    """Return the path as the user writes it: `source.kafka.topics[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


class _Resolver(BaseResolver):
    """YAML 1.2 scalars: `true`, `false`, `null` and numbers; `yes`, `on`, `010` and dates stay text."""


_Resolver.add_implicit_resolver(_BOOL, re.compile(r"(true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))
_Resolver.add_implicit_resolver(_NULL, re.compile(r"(~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Resolver.add_implicit_resolver(_INT, re.compile(r"[-+]?(0|[1-9][0-9]{0,18})\Z"), list("-+0123456789"))
_FLOATING = re.compile(r"[-+]?[0-9]{1,18}(\.[0-9]{0,18}([eE][-+]?[0-9]{1,3})?|[eE][-+]?[0-9]{1,3})\Z")
_Resolver.add_implicit_resolver(_FLOAT, _FLOATING, list("-+0123456789"))


class _Loader(Reader, Scanner, Parser, Composer, _Resolver):
    """PyYAML's parser without constructors, with limits on depth and size."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _Resolver.__init__(self)
        self._depth = 0
        self._nodes = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        """Compose one node; an alias counts as many nodes as it expands to, which stops alias bombs."""
        is_alias = self.check_event(AliasEvent)
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self._depth >= MAX_DEPTH:
            raise _refusal(f"is nested deeper than {MAX_DEPTH} levels", mark)
        before = self._nodes
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and id(node) not in self._sizes:
            raise _refusal("has an anchor that contains itself", mark)
        self._nodes += self._sizes[id(node)] if is_alias else 1
        if self._nodes > MAX_NODES:
            raise _refusal(f"has more than {MAX_NODES} values after its aliases are expanded", mark)
        if not is_alias:
            self._sizes[id(node)] = self._nodes - before
        return node


class _Builder:
    """Converts nodes to values and collects every fault."""

    def __init__(self) -> None:
        self.faults: list[ConfigFault] = []
        self.lines: dict[Path, int] = {}

    def build(self, node: Node, path: Path) -> Any:
        if node.tag not in _PLAIN_TAGS:
            # A password that starts with ! looks like a tag, so only tags that cannot be passwords are quoted.
            name = f" {node.tag.rpartition('2002:')[2]}" if "2002:python/" in node.tag else ""
            self._fault(
                path,
                f"has a tag{name}, which is not allowed; put quotes around text that starts with !",
                node,
            )
        elif isinstance(node, ScalarNode):
            return self._scalar(node, path)
        elif isinstance(node, SequenceNode):
            return [self.build(item, (*path, at)) for at, item in enumerate(node.value)]
        elif isinstance(node, MappingNode):
            return self._mapping(node, path)
        return None

    def _mapping(self, node: MappingNode, path: Path) -> dict[str | int, Any]:
        values: dict[str | int, Any] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            # A numeric key is text in a path, where a number is a position in a list.
            place, line = (*path, str(key)), key_node.start_mark.line + 1
            if str(key) in first:
                self._fault(
                    place, f"is a duplicate of the key on line {first[str(key)]}; keep one of them", key_node
                )
                continue
            first[str(key)] = line
            self.lines[place] = line
            values[key] = self.build(value_node, place)
        return values

    def _key(self, node: Node, path: Path) -> str | int | None:
        if isinstance(node, ScalarNode) and node.tag in _PLAIN_TAGS:
            if node.value == "<<" and node.style is None:
                self._fault(path, "merge keys (<<) are not supported; write the keys out", node)
                return None
            # `true:` and `1.5:` are text too; only integers are kept, for partitions.
            value = self._scalar(node, path) if node.tag == _INT else node.value
            return value if isinstance(value, int) else str(node.value)
        self._fault(path, "has a key that is not plain text", node)
        return None

    def _scalar(self, node: ScalarNode, path: Path) -> Any:
        text = str(node.value)
        try:
            if node.tag == _INT:
                return int(text)
            if node.tag == _FLOAT:
                return float(text)
        except ValueError:
            self._fault(path, "has a tag that does not match its value", node)
            return None
        if node.tag == _BOOL:
            return text.lower() == "true"
        if node.tag == _NULL:
            return None if text in _NULLS else text
        return text

    def _fault(self, path: Path, message: str, node: Node) -> None:
        self.faults.append(ConfigFault(key_path(path), message, node.start_mark.line + 1))


class _Refusal(MarkedYAMLError):
    """Valid YAML that a configuration must not contain."""


def _refusal(message: str, mark: Any) -> _Refusal:
    return _Refusal(problem=message, problem_mark=mark)


def _syntax_fault(error: MarkedYAMLError) -> ConfigFault:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    problem = error.problem or error.context or "it cannot be read"
    if isinstance(error, _Refusal):
        return ConfigFault("", problem, line)
    if "'\\t'" in problem:
        return ConfigFault("", "has a tab where YAML requires spaces; indent with spaces", line)
    if "undefined alias" in problem or "duplicate anchor" in problem:
        # The name may be a password without quotes: do not print it.
        return ConfigFault(
            "", "has an invalid alias or anchor; put quotes around text that starts with * or &", line
        )
    if "undefined tag handle" in problem:
        return ConfigFault(
            "", "has a tag, which is not allowed; put quotes around text that starts with !", line
        )
    if "expected a single document" in (error.context or ""):
        return ConfigFault("", "has a second document (---); a file describes one job", line)
    return ConfigFault("", f"is not YAML: {problem}", line)
