"""Secrets: which values must never be printed, and how they are masked in text.

A secret is a `str` that works like any other text, but its `repr` is a mask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

MASK = "******"

# Flink's list, Spark's `spark.redaction.regex`, and the keys of Kerberos, SASL and TLS.
SENSITIVE_KEYS = (
    r"password|secret|token|api[-._]?key|access[-._]?key|account\.key|service-key|auth-params|basic[-.]auth"
    r"|jaas\.config|http-headers|keytab|credential|sasl|private"
)
"""A regular expression with the same meaning in Java and in Python, except for case."""
_SENSITIVE_KEY = re.compile(SENSITIVE_KEYS, re.IGNORECASE)
# Like Spark, also check the value; a URL may contain user and password.
_SENSITIVE_VALUE = re.compile(r"secret|password|token|access[.]?key|://[^/@\s:]*:[^/@\s]+@", re.IGNORECASE)
_PASSWORD = re.compile(r"""password\s*=\s*(?:"((?:[^"\\]|\\.)+)"|([^"';\s]+))""", re.IGNORECASE)
# Values of sensitive keys that are not secrets: masking these words would make logs unreadable.
_HARMLESS = re.compile(r"(?i:true|false|[0-9]{1,6}|PLAIN|GSSAPI|OAUTHBEARER|EXTERNAL|SCRAM-SHA-[0-9]+)")
# A shorter text reveals nothing, and masking it would make the message unreadable.
_SHORTEST = 3


class Secret(str):
    """A text from outside the file, or the value of a sensitive key; its repr is a mask."""

    __slots__ = ("parts",)

    parts: tuple[str, ...]

    def __new__(cls, text: str, parts: Iterable[str] = ()) -> Secret:
        """Keep the secret `parts` of a longer text, so that each is masked wherever it occurs."""
        self = super().__new__(cls, text)
        self.parts = tuple(parts)
        return self

    def __repr__(self) -> str:
        return repr(MASK)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, (str(self), self.parts))

    def with_text(self, text: str) -> Secret:
        """Return a part or a normalized form of this secret, which is a secret too."""
        return Secret(text, self.parts)


def make_secret(text: str) -> Secret:
    """Return a text as a secret; passwords inside it are masked on their own too, since a client may quote them."""
    return Secret(text, [match[1] or match[2] for match in _PASSWORD.finditer(text)])


def is_sensitive(key: str, value: str = "") -> bool:
    """Return whether the value of this key must be masked."""
    return bool(_SENSITIVE_KEY.search(key) or _SENSITIVE_VALUE.search(value))


def secrets_in(tree: Any) -> Iterator[Secret]:
    """Yield every secret in a tree of mappings, sequences and texts."""
    if isinstance(tree, Secret):
        yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from secrets_in(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from secrets_in(value)


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Return the text with every occurrence of a secret replaced by the mask."""
    spellings = {s for secret in secrets for s in _spellings(secret)}
    # Longest first: otherwise masking a part would leave the rest of a secret readable.
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, MASK)
    return text


def _spellings(secret: Secret) -> Iterator[str]:
    """Yield a secret as written, escaped for JSON, repr and URLs, and line by line."""
    if not secret.parts and _HARMLESS.fullmatch(secret):
        return
    for value in (str(secret), *secret.parts):
        lines = value.splitlines() if value in secret.parts or not secret.parts else ()
        for text in (value, json.dumps(value)[1:-1], repr(value)[1:-1], quote(value, safe=""), *lines):
            if len(text.strip()) >= _SHORTEST:
                yield text
