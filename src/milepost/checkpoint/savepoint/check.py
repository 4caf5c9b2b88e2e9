"""Compares a savepoint with the job that is to be restored from it. Pure: outlines go in, differences come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.errors import PreflightError


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference from the job that the savepoint was taken of."""

    what: str
    is_fatal: bool = False
    """Whether not even --allow-non-restored-state helps."""


def differences(savepoint: Savepoint, job_name: str, now: Mapping[str, Any]) -> list[Difference]:
    """Return how the job differs: its name, its sources, its state backend, its sinks."""
    then = savepoint.outline
    found = []
    if savepoint.job_name != job_name:
        found.append(Difference(f"the job was {savepoint.job_name!r} and is {job_name!r}"))
    found += _sources(then.get("sources", {}), now["sources"])
    found += _sinks(then.get("sink", {}), now["sink"])
    before, after = then.get("state-backend"), now["state-backend"]
    if before != after and any(name.startswith("state/") for name in savepoint.files):
        found.append(
            Difference(f"the state backend was {before} and is {after}, which cannot read it", is_fatal=True)
        )
    return found


def require_same(savepoint: Savepoint, found: list[Difference], *, is_allowed: bool) -> None:
    """Refuse a savepoint of another job, with everything that is different."""
    refused = [each for each in found if each.is_fatal or not is_allowed]
    if refused:
        helps = not any(each.is_fatal for each in refused)
        raise PreflightError(
            f"The savepoint {savepoint.path} does not match this job: "
            + "; ".join(each.what for each in refused),
            why="its offsets and state belong to something else",
            fix="Use a savepoint of this job"
            + (", or run with --allow-non-restored-state if this is intended" if helps else ""),
        )


def _sources(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    for view in sorted(then.keys() - now.keys()):
        yield Difference(f"source {view!r} is gone")
    for view in sorted(now.keys() - then.keys()):
        yield Difference(f"source {view!r} is new")
    for view in sorted(then.keys() & now.keys()):
        for key in ("topics", "topic-pattern", "format", "schema"):
            if then[view].get(key) != now[view].get(key):
                yield Difference(
                    f"{key} of source {view!r} was {then[view].get(key)} and is {now[view].get(key)}"
                )


def _sinks(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    if then.keys() != now.keys():
        yield Difference(f"the sink was {', '.join(then)} and is {', '.join(now)}")
        return
    for kind, before in then.items():
        for key in sorted(before.keys() | now[kind].keys()):
            if before.get(key) != now[kind].get(key):
                yield Difference(f"sink.{kind}.{key} was {before.get(key)} and is {now[kind].get(key)}")
