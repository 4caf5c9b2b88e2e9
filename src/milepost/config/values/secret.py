"""What must never be shown: which values are secret, and how a text is freed of them.

A secret is a `str` that works wherever text does but whose `repr` is a mask; only its user spells it out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

MASK = "******"

# Flink's list, Spark's `spark.redaction.regex`, and what Kerberos, SASL and TLS add.
SENSITIVE_KEYS = (
    r"password|secret|token|api[-._]?key|access[-._]?key|account\.key|service-key|auth-params|basic[-.]auth"
    r"|jaas\.config|http-headers|keytab|credential|sasl|private"
)
"""An expression that Java reads as Python does, but for the letters' case."""
_SENSITIVE_KEY = re.compile(SENSITIVE_KEYS, re.IGNORECASE)
# Spark looks into the value too; a URL with user and password is the other way a secret hides there.
_SENSITIVE_VALUE = re.compile(r"secret|password|token|access[.]?key|://[^/@\s:]*:[^/@\s]+@", re.IGNORECASE)
_PASSWORD = re.compile(r"""password\s*=\s*(?:"((?:[^"\\]|\\.)+)"|([^"';\s]+))""", re.IGNORECASE)
# Words that stand under a sensitive key but are no secret: masking them would blank half of every log.
_HARMLESS = re.compile(r"(?i:true|false|[0-9]{1,6}|PLAIN|GSSAPI|OAUTHBEARER|EXTERNAL|SCRAM-SHA-[0-9]+)")
# Shorter than this a text says nothing, and masking it would destroy the message around it.
_SHORTEST = 3


class Secret(str):
    """A text that came from outside the file, or stands under a sensitive key; its repr is a mask."""

    __slots__ = ("parts",)

    parts: tuple[str, ...]

    def __new__(cls, text: str, parts: Iterable[str] = ()) -> Secret:
        """Keep the secret `parts` of a longer text, so that each is masked wherever it turns up."""
        self = super().__new__(cls, text)
        self.parts = tuple(parts)
        return self

    def __repr__(self) -> str:
        return repr(MASK)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, (str(self), self.parts))

    def with_text(self, text: str) -> Secret:
        """Return a piece or a rewriting of this secret, as secret as the whole."""
        return Secret(text, self.parts)


def hidden(text: str) -> Secret:
    """Return a text as a secret, and each password inside it as one of its own: a client may quote that alone."""
    return Secret(text, [match[1] or match[2] for match in _PASSWORD.finditer(text)])


def is_sensitive(key: str, value: str = "") -> bool:
    """Return whether the value of this key must not be shown."""
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
    # The longest first, or a part would be masked and leave the rest of the whole behind.
    for spelling in sorted(spellings, key=len, reverse=True):
        text = text.replace(spelling, MASK)
    return text


def _spellings(secret: Secret) -> Iterator[str]:
    """Yield a secret as written, as JSON and repr escape it, as a URL holds it, and line by line."""
    if not secret.parts and _HARMLESS.fullmatch(secret):
        return
    for value in (str(secret), *secret.parts):
        lines = value.splitlines() if value in secret.parts or not secret.parts else ()
        for text in (value, json.dumps(value)[1:-1], repr(value)[1:-1], quote(value, safe=""), *lines):
            if len(text.strip()) >= _SHORTEST:
                yield text
