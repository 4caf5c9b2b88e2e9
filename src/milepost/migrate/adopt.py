"""Adopts the checkpoint of a plain Spark query, so that a pipeline resumes exactly where the query stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.store.identity import JobIdentity
from milepost.checkpoint.store.store import Store
from milepost.config import HBaseSink
from milepost.errors import PreflightError
from milepost.job.prepare import prepare_from
from milepost.job.spec import JobSpec
from milepost.job.startup import generations
from milepost.migrate.adopt_files import AdoptingJob, require_empty, take_over
from milepost.migrate.plain_spark import SparkCheckpoint, inspect_checkpoint
from milepost.pipeline import Plan
from milepost.sink.hbase import HBaseStage
from milepost.sink.newest_versions import free_generation, require_generation
from milepost.sink.versioning import version_of
from milepost.sink.writers import NUMBERED
from milepost.source.match import require_same_sources

_RECENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A plain Spark checkpoint that has passed every check and can be adopted."""

    spec: JobSpec
    source: Store
    found: SparkCheckpoint
    plan: Plan
    """The start-up plan of the adopting job."""
    command: str

    def take(self) -> int:
        """Copy the checkpoint into the job's directory; return the number of files."""
        config = self.spec.config
        target = Store.at(config.checkpointing.dir)
        lease = Lease.acquire(target, self.spec.job_id)
        try:
            adopting = AdoptingJob(
                job=JobIdentity(name=config.name, job_id=self.spec.job_id),
                topic_ids=dict(self.plan.topic_ids),
                begins=self.plan.start.offsets(),
                versions=self.plan.versions,
                command=self.command,
            )
            return take_over(self.source, self.found, target, adopting)
        finally:
            lease.release()

    def summary(self) -> list[str]:
        """Return what will be adopted, as lines of text."""
        found, lines = self.found, []
        completed = (
            "no batch completed" if found.completed is None else f"batch {found.completed.batch_id} completed"
        )
        started = "" if found.in_flight is None else f", batch {found.in_flight} started: it is repeated"
        lines.append(f"Spark query {found.query_id} in {found.address}: {completed}{started}")
        if found.operators:
            partitions = found.settings.get("spark.sql.shuffle.partitions", "?")
            lines.append(f"state of {', '.join(found.operators)}, in {partitions} partitions")
        if self.plan.versions is not None:
            lines.append(f"cell versions start at generation {self.plan.versions.generation}")
        return lines


def inspect(spec: JobSpec, directory: str, command: str) -> Adoption:
    """Check the Spark checkpoint, the pipeline, the broker and the table; refuse what cannot be resumed."""
    if spec.discards_state:
        raise PreflightError(
            "A job with checkpointing.state-backend memory cannot adopt a checkpoint",
            why="its state ends with its process, and the next start is from scratch",
            fix="Set checkpointing.state-backend to filesystem, Spark's default, or rocksdb, as in the query",
        )
    require_empty(Store.at(spec.config.checkpointing.dir))
    source = Store.at(directory)
    found = inspect_checkpoint(source)
    require_same_sources(found.sources, spec.config.views)
    prepared = prepare_from(spec, source)
    plan = prepared.plan
    generation = _generation(spec, plan)
    plan = replace(
        plan,
        versions=generations.for_adoption(plan, generation, found.newest_batch_ms),
        warnings=(*plan.warnings, *_warnings(spec, found, generation)),
    )
    return Adoption(spec=spec, source=source, found=found, plan=plan, command=command)


def _generation(spec: JobSpec, plan: Plan) -> int:
    """Return a generation above every cell in the table."""
    sink = plan.sink
    if not isinstance(sink, HBaseStage) or not sink.table_exists or sink.sink.guard == "cas":
        return 0
    generation = free_generation(spec.spark, sink.sink)
    if version_of(spec.config) in NUMBERED:
        require_generation(sink.sink, generation)
    return generation


def _warnings(spec: JobSpec, found: SparkCheckpoint, generation: int) -> Iterator[str]:
    sink, version = spec.config.sink.kind, version_of(spec.config)
    if found.in_flight is not None:
        yield f"The query started batch {found.in_flight} but did not commit it: {_explain_repetition(version)}"
    newest = datetime.fromtimestamp(found.newest_batch_ms / 1000, tz=timezone.utc)
    age = (utc_now() - newest).total_seconds()
    if age < _RECENT_SECONDS:
        yield (
            f"The query started its newest batch {max(age, 0):.0f} s ago. Make sure that its process has ended: "
            "Milepost cannot stop it, and two jobs would resume from the same offsets."
        )
    has_times = isinstance(sink, HBaseSink) and version not in ("offset", "checkpoint", "server-time")
    if has_times and generation > 0:
        yield (
            f"Table {spec.config.sink.hbase.table!r} already holds cells, and version is {version}: if the query wrote "
            "them with HBase's own timestamps, a record that is older than its cell stays hidden behind it. "
            "version: offset writes above them."
        )


def _explain_repetition(version: str | None) -> str:
    """Return the effect of repeating a batch whose records may already be written."""
    if version is None or version == "server-time":
        return (
            "it is repeated, and the records that the query has already written are written a second time. This cannot "
            "be avoided here; only a sink that identifies records can."
        )
    return (
        "it is repeated. Rows that the query has already written are overwritten with the same values, above the old "
        "cells. The result is exact if the query wrote the same columns of the same rows, but not if it added to them "
        "(Increment, Append)."
    )
