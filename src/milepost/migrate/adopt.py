"""Takes over the checkpoint of a plain Spark query, so that a pipeline goes on exactly where it stopped."""

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
from milepost.migrate.adopt_files import Arrival, require_empty, take_over
from milepost.migrate.plain_spark import SparkCheckpoint, look
from milepost.pipeline import Plan
from milepost.sink.hbase import HBaseStage
from milepost.sink.newest_versions import free_generation, require_generation
from milepost.sink.versioning import version_of
from milepost.sink.writers import NUMBERED
from milepost.source.match import require_same_sources

_RECENT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A checkpoint of plain Spark that has passed every check and may be taken over."""

    spec: JobSpec
    source: Store
    found: SparkCheckpoint
    plan: Plan
    """The start-up plan of the job as it will be."""
    command: str

    def take(self) -> int:
        """Copy it into the job's directory, and return how many files it was."""
        config = self.spec.config
        target = Store.at(config.checkpointing.dir)
        lease = Lease.acquire(target, self.spec.job_id)
        try:
            arrival = Arrival(
                job=JobIdentity(name=config.name, job_id=self.spec.job_id),
                topic_ids=dict(self.plan.topic_ids),
                begins=self.plan.start.offsets(),
                versions=self.plan.versions,
                command=self.command,
            )
            return take_over(self.source, self.found, target, arrival)
        finally:
            lease.release()

    def summary(self) -> list[str]:
        """Return what will be taken, in lines for a person."""
        found, lines = self.found, []
        completed = (
            "no batch completed" if found.completed is None else f"batch {found.completed.batch_id} completed"
        )
        begun = "" if found.in_flight is None else f", batch {found.in_flight} begun: it is run again"
        lines.append(f"Spark query {found.query_id} in {found.address}: {completed}{begun}")
        if found.operators:
            partitions = found.settings.get("spark.sql.shuffle.partitions", "?")
            lines.append(f"state of {', '.join(found.operators)}, in {partitions} partitions")
        if self.plan.versions is not None:
            lines.append(f"versions of cells begin at generation {self.plan.versions.generation}")
        return lines


def inspect(spec: JobSpec, directory: str, command: str) -> Adoption:
    """Check the Spark checkpoint, the pipeline, the broker and the table; refuse what could not go on."""
    if spec.discards_state:
        raise PreflightError(
            "checkpointing.state-backend is memory, which takes nothing over",
            why="what a job knows ends with its process there, and the next start begins anew",
            fix="Set checkpointing.state-backend to filesystem, Spark's default, or rocksdb, as the query had it",
        )
    require_empty(Store.at(spec.config.checkpointing.dir))
    source = Store.at(directory)
    found = look(source)
    require_same_sources(found.sources, spec.config.views)
    prepared = prepare_from(spec, source)
    plan = prepared.plan
    generation = _generation(spec, plan)
    plan = replace(
        plan,
        versions=generations.for_adoption(plan, generation, found.looked_at_ms),
        warnings=(*plan.warnings, *_warnings(spec, found, generation)),
    )
    return Adoption(spec=spec, source=source, found=found, plan=plan, command=command)


def _generation(spec: JobSpec, plan: Plan) -> int:
    """Return the generation that is above everything in the table."""
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
        yield f"Batch {found.in_flight} was begun by the query and is not committed: {_twice(version)}"
    newest = datetime.fromtimestamp(found.looked_at_ms / 1000, tz=timezone.utc)
    age = (utc_now() - newest).total_seconds()
    if age < _RECENT_S:
        yield (
            f"The query has begun its newest batch {max(age, 0):.0f} s ago. Make sure that its process has ended: "
            "Milepost cannot stop it, and two jobs would go on from the same place."
        )
    has_times = isinstance(sink, HBaseSink) and version not in ("offset", "checkpoint", "server-time")
    if has_times and generation > 0:
        yield (
            f"Table {spec.config.sink.hbase.table!r} holds cells already, and version is {version}: where the query "
            "wrote them at HBase's own time, a record that is older than its cell stays hidden behind it. "
            "version: offset writes above them."
        )


def _twice(version: str | None) -> str:
    """Return what it means that records of a batch may have been written before."""
    if version is None or version == "server-time":
        return (
            "it is run again, and what the query has written of it already comes a second time. Nothing can be done "
            "about it here; a sink that tells records apart is needed."
        )
    return (
        "it is run again. Rows that the query has written of it already are written over with the same values, above "
        "the old cells; that is exact where the query wrote the same columns of the same rows, and not where it "
        "added to them (Increment, Append)."
    )
