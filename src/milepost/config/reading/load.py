"""Reads a configuration: the file, then `--set`, then secrets, then one validation that reports every fault.

Precedence: command line > file > default. No other module reads the file or the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from milepost.config.model import Config
from milepost.config.reading.document import (
    MAX_BYTES,
    Document,
    DocumentError,
    key_path,
    parse_document,
)
from milepost.config.reading.document import Path as KeyPath
from milepost.config.reading.faults import (
    KEY_FAULTS,
    Finding,
    findings,
    without_secrets,
)
from milepost.config.reading.interpolate import Interpolation
from milepost.config.values.secret import secrets_in
from milepost.errors import ConfigError, ConfigFault

# Keys below these may contain dots, so the rest of a `--set` path is one key.
_FREE_FORM = ("properties", "conf")
# Each round can only reveal faults that a wrong key hid in the previous round; real files need two.
_ROUNDS = 4


def load_config(path: Path | str, overrides: Iterable[str] = ()) -> Config:
    """Return the configuration in a YAML file, with `key.path=value` overrides applied.

    Raises ConfigError with every fault, each with its key path and line. Relative paths are relative to
    the folder of the file.
    """
    path = Path(path)
    try:
        document = parse_document(_read(path))
    except DocumentError as error:
        raise _invalid(str(path), error.faults) from None
    if not isinstance(document.values, dict):
        fault = ConfigFault(
            "", "is empty" if document.values is None else "must be a mapping of keys to values"
        )
        raise _invalid(str(path), [fault])
    faults = _override(document, overrides)
    return _validate_document(document, path.absolute().parent, str(path), faults)


def parse_config(values: Mapping[str, Any]) -> Config:
    """Return the configuration in a mapping with the keys of the file; `${…}` is replaced as in a file."""
    return _validate_document(Document(deepcopy(dict(values))), Path.cwd(), "The configuration", [])


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            # One byte above the limit is enough to detect a larger file.
            return file.read(MAX_BYTES + 1).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(
            f"{path} cannot be read", why="it is not UTF-8 text", fix="Save it as UTF-8"
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "the name is not a path"
        raise ConfigError(f"{path} cannot be read", why=why, fix="Pass the YAML file of a job") from None


def _validate_document(document: Document, folder: Path, name: str, faults: list[ConfigFault]) -> Config:
    interpolation = Interpolation(folder)
    tree = interpolation.apply(document.values)
    faults += interpolation.faults
    config, found = _validate_tree(tree, folder)
    secrets = list(secrets_in(tree))
    blamed = {fault.path for fault in faults}
    for finding in (without_secrets(f, secrets) for f in found):
        # A value that could not be resolved is not reported a second time.
        if finding.place not in blamed:
            faults.append(ConfigFault(finding.place, finding.message))
    if config is None or faults:
        lines = {key_path(path): line for path, line in document.lines.items()}
        located = [ConfigFault(f.path, f.message, f.line or lines.get(f.path.split("[")[0])) for f in faults]
        raise _invalid(name, located)
    return config


def _validate_tree(tree: Any, folder: Path) -> tuple[Config | None, list[Finding]]:
    """Return the configuration, or None and every fault.

    Keys are checked together only if each is valid by itself. So invalid values are removed and the rest is
    validated again: one run reports all faults.
    """
    tree = deepcopy(tree)
    found: list[Finding] = []
    for _ in range(_ROUNDS):
        try:
            config = Config.model_validate(tree, context={"folder": folder, "is_file": True})
            return (None if found else config), found
        except ValidationError as error:
            new = [f for f in findings(error, Config, tree) if not _follows(f, found)]
        if not new:
            break
        found += new
        for finding in new:
            _remove(tree, finding.path)
    return None, found


def _follows(finding: Finding, before: list[Finding]) -> bool:
    """Return whether a fault only exists because an invalid value was removed before."""
    section = finding.place.removesuffix(finding.keys[0]) if finding.kind == KEY_FAULTS else ""
    looked_at = [section + key for key in finding.keys] or [finding.place]
    return any(_is_within(b.place, place) for place in looked_at for b in before)


def _is_within(place: str, outer: str) -> bool:
    return place == outer or place.startswith((f"{outer}.", f"{outer}["))


def _remove(tree: Any, path: KeyPath) -> None:
    """Remove the value at a path; of a list all items, because a partial list has another meaning."""
    for at, part in enumerate(path):
        if not isinstance(tree, dict):
            return
        if at + 1 == len(path) or isinstance(tree.get(part), list):
            tree.pop(part, None)
            return
        tree = tree.get(part)


def _override(document: Document, overrides: Iterable[str]) -> list[ConfigFault]:
    faults = []
    for override in overrides:
        path, equals, text = override.partition("=")
        keys = _keys(path.strip())
        try:
            if not equals or not all(keys):
                raise ValueError(f"--set {path.strip()!r} must be key.path=value")
            _set(document.values, keys, parse_document(text).values)
            document.lines.pop(tuple(keys), None)
        except DocumentError as error:
            message = (
                f"--set has a value that cannot be parsed: {error.faults[0].message}; put quotes around it"
            )
            faults.append(ConfigFault(".".join(keys), message))
        except ValueError as error:
            faults.append(ConfigFault(".".join(keys) if equals else "", str(error)))
    return faults


def _keys(path: str) -> list[str]:
    keys = path.split(".")
    at = next((i for i, key in enumerate(keys) if key in _FREE_FORM), len(keys))
    return [*keys[: at + 1], *([".".join(keys[at + 1 :])] if keys[at + 1 :] else [])]


def _set(tree: dict[str, Any], keys: list[str], value: Any) -> None:
    for at, key in enumerate(keys[:-1]):
        inner = tree.get(key)
        if inner is None:
            inner = tree[key] = {}
        if not isinstance(inner, dict):
            raise ValueError(f"--set reaches below {'.'.join(keys[: at + 1])}, which is not a mapping")
        tree = inner
    if value is None:
        # An empty value removes the key, which restores its default.
        tree.pop(keys[-1], None)
    else:
        tree[keys[-1]] = value


def _invalid(name: str, faults: Iterable[ConfigFault]) -> ConfigError:
    listed = list(faults)
    count = f"{len(listed)} faults" if len(listed) != 1 else "1 fault"
    return ConfigError(f"{name} is not a valid job, and nothing was started; {count}:", faults=listed)
