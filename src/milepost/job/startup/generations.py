"""How a job goes on making versions of cells where it, or one before it on its directory, has written already."""

from __future__ import annotations

import json
from typing import Any

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.model import Offsets
from milepost.checkpoint.store import identity
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.layout import OFFSETS
from milepost.checkpoint.store.spark_log import batch_ids
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.checkpoint.versions.versions import Topic, Versions
from milepost.pipeline import Plan
from milepost.sink.versioning import version_of
from milepost.sink.writers import NUMBERED
from milepost.source.positions import merge_offsets


def restarted(plan: Plan, place: Store) -> Versions | None:
    """Return how versions are made where a job begins anew; None where they need no memory."""
    if version_of(plan.config) not in NUMBERED:
        return None
    known = versions.recorded(place)
    if known is None and batch_ids(place, OFFSETS):
        # A job that did not remember: its topics are known by their ids, and each had its first era.
        old = {name: Topic(topic_id, 0) for name, topic_id in identity.recorded(place).items()}
        known = versions.resumed(None, old)
    return versions.from_scratch(known, _topics_of(plan, {}), utc_now())


def resumed(plan: Plan, place: Store) -> Versions | None:
    """Return how versions are made where a job goes on, or begins where nothing is left to go on from."""
    if not batch_ids(place, OFFSETS):
        return restarted(plan, place)
    if version_of(plan.config) not in NUMBERED:
        return None
    before = {} if plan.completed is None else merge_offsets(plan.completed.sources)
    return versions.resumed(versions.recorded(place) or _copy(place), _topics_of(plan, before))


def adopted(plan: Plan, generation: int, begun_ms: int) -> Versions | None:
    """Return how versions are made where a job goes on from another's offsets, above what is in the table."""
    if version_of(plan.config) not in NUMBERED:
        return None
    before = {} if plan.completed is None else merge_offsets(plan.completed.sources)
    return versions.above(_topics_of(plan, before), generation, begun_ms)


def restored(plan: Plan, savepoint: Store, place: Store) -> Versions | None:
    """Return how versions are made where a job goes on from a savepoint in a directory that may know more."""
    if version_of(plan.config) not in NUMBERED or plan.completed is None:
        return None
    boundary = merge_offsets(plan.completed.sources)
    saved = versions.recorded(savepoint) or _copy(savepoint)
    return versions.restored(saved, versions.recorded(place), _topics_of(plan, {}), boundary)


def is_known(place: Store) -> bool:
    """Return whether a directory or savepoint remembers how versions were made."""
    return versions.recorded(place) is not None or _copy(place) is not None


def _copy(place: Store) -> Versions | None:
    """Return what the newest checkpoint remembers, where the file itself is gone."""
    newest = CheckpointFiles(place).newest()
    return Versions(topics=newest.versions) if newest is not None and newest.versions else None


def install(plan: Plan, place: Store, engine_job: Any) -> None:
    """Let the engine know the eras of versions so far, and when no topic had grown beyond them."""
    if plan.versions is None or version_of(plan.config) != "offset":
        return
    taken = CheckpointFiles(place).triggered_at() if plan.completed is not None else None
    since = taken or plan.versions.begun()
    engine_job.setEras(json.dumps(plan.versions.topics), int(since.timestamp() * 1000))


def _topics_of(plan: Plan, before: Offsets) -> dict[str, Topic]:
    """Return the topics as the checkpoint knew them, or else as they are now."""
    now = plan.start.offsets()
    return {
        topic: Topic(plan.topic_ids[topic], len(before.get(topic, partitions)))
        for topic, partitions in now.items()
    }
