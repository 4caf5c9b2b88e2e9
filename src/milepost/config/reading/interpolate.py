"""Replaces `${env:NAME}` and `${file:path}` in text values, which keeps secrets out of the file.

`$${` is a literal `${`. Replacements are not expanded again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from milepost.config.reading.document import Path as KeyPath
from milepost.config.reading.document import key_path
from milepost.config.values.secret import Secret
from milepost.errors import ConfigFault

MAX_FILE_BYTES = 1 << 16

_REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FORMS = "use ${env:NAME} or ${file:path}; write $${ for a literal ${"


class Interpolation:
    """Replaces the references in a tree of values and collects the faults."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.environment = os.environ if environment is None else environment
        self.faults: list[ConfigFault] = []

    def apply(self, tree: Any, path: KeyPath = ()) -> Any:
        """Return the tree with every reference replaced; a text that had one becomes a Secret."""
        if isinstance(tree, str) and not isinstance(tree, Secret):
            return self._text(tree, path)
        if isinstance(tree, Mapping):
            return {key: self.apply(value, (*path, str(key))) for key, value in tree.items()}
        if isinstance(tree, list | tuple):
            return [self.apply(value, (*path, at)) for at, value in enumerate(tree)]
        return tree

    def _text(self, text: str, path: KeyPath) -> str:
        parts: list[str] = []

        def resolve(match: re.Match[str]) -> str:
            if match[0] == "$${":
                return "${"
            try:
                parts.append(self._reference(match[1], closed=bool(match[2])))
            except ValueError as error:
                self.faults.append(ConfigFault(key_path(path), str(error)))
                return match[0]
            return parts[-1]

        resolved = _REFERENCE.sub(resolve, text)
        return Secret(resolved, parts) if parts else resolved

    def _reference(self, reference: str, *, closed: bool) -> str:
        if not closed:
            raise ValueError("has a ${ without a closing }; write $${ for a literal ${")
        provider, _, name = reference.partition(":")
        if provider == "env":
            return self._variable(name)
        if provider == "file":
            return self._file(name)
        raise ValueError(f"${{{reference}}} is not supported: {_FORMS}")

    def _variable(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError(f"${{env:{name}}} does not name an environment variable")
        value = self.environment.get(name)
        if value is None:
            raise ValueError(f"environment variable {name} is not set; export it before you start the job")
        return value

    def _file(self, name: str) -> str:
        if not name.strip() or "\0" in name:
            raise ValueError("${file:…} does not name a file")
        try:
            path = self.folder / Path(name).expanduser()
            with path.open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"file {name} is not UTF-8 text") from None
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it cannot be opened"
            raise ValueError(f"file {name} cannot be read: {reason}") from None
        if len(content) > MAX_FILE_BYTES:
            raise ValueError(
                f"file {name} is larger than {MAX_FILE_BYTES >> 10} KiB, the maximum for a secret"
            )
        # Editors and `echo` end a file with a newline that is not part of the secret.
        return text.removesuffix("\n").removesuffix("\r")
