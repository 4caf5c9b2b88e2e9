"""Chooses the cell versions of a job so that they are above those written by earlier runs."""

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


def for_fresh_start(plan: Plan, place: Store) -> Versions | None:
    """Return the versions of a job that starts from scratch; None if its versions do not depend on earlier runs."""
    if version_of(plan.config) not in NUMBERED:
        return None
    known = versions.recorded(place)
    if known is None and batch_ids(place, OFFSETS):
        # A job without a versions file: its topics are known by id, and each is in its first era.
        old = {name: Topic(topic_id, 0) for name, topic_id in identity.recorded(place).items()}
        known = versions.resumed(None, old)
    return versions.from_scratch(known, _topics_of(plan, {}), utc_now())


def for_resume(plan: Plan, place: Store) -> Versions | None:
    """Return the versions of a job that resumes, or starts from scratch because there is no state."""
    if not batch_ids(place, OFFSETS):
        return for_fresh_start(plan, place)
    if version_of(plan.config) not in NUMBERED:
        return None
    before = {} if plan.completed is None else merge_offsets(plan.completed.sources)
    return versions.resumed(
        versions.recorded(place) or _read_from_checkpoint(place), _topics_of(plan, before)
    )


def for_adoption(plan: Plan, generation: int, newest_batch_ms: int) -> Versions | None:
    """Return the versions of a job that resumes from another's offsets, above those in the table."""
    if version_of(plan.config) not in NUMBERED:
        return None
    before = {} if plan.completed is None else merge_offsets(plan.completed.sources)
    return versions.above(_topics_of(plan, before), generation, newest_batch_ms)


def for_restore(plan: Plan, savepoint: Store, place: Store) -> Versions | None:
    """Return the versions of a job that starts from a savepoint, above those recorded in its directory."""
    if version_of(plan.config) not in NUMBERED or plan.completed is None:
        return None
    boundary = merge_offsets(plan.completed.sources)
    saved = versions.recorded(savepoint) or _read_from_checkpoint(savepoint)
    return versions.restored(saved, versions.recorded(place), _topics_of(plan, {}), boundary)


def is_recorded(place: Store) -> bool:
    """Return whether a directory or savepoint has a record of its versions."""
    return versions.recorded(place) is not None or _read_from_checkpoint(place) is not None


def _read_from_checkpoint(place: Store) -> Versions | None:
    """Return the versions stored with the newest checkpoint, for use if the versions file is gone."""
    newest = CheckpointFiles(place).newest()
    return Versions(topics=newest.versions) if newest is not None and newest.versions else None


def pass_to_engine(plan: Plan, place: Store, engine_job: Any) -> None:
    """Pass the eras of versions to the engine, with the time at which they covered every partition."""
    if plan.versions is None or version_of(plan.config) != "offset":
        return
    taken = CheckpointFiles(place).triggered_at() if plan.completed is not None else None
    since = taken or plan.versions.begun()
    engine_job.setEras(json.dumps(plan.versions.topics), int(since.timestamp() * 1000))


def _topics_of(plan: Plan, before: Offsets) -> dict[str, Topic]:
    """Return the topics with the partitions of the checkpoint, or else with the current ones."""
    now = plan.start.offsets()
    return {
        topic: Topic(plan.topic_ids[topic], len(before.get(topic, partitions)))
        for topic, partitions in now.items()
    }
