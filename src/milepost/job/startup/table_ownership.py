"""Checks the other jobs that are recorded as writers of the table, and claims the table for this job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from pyspark.sql import SparkSession

from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.lease import lease
from milepost.checkpoint.store.layout import OFFSETS
from milepost.checkpoint.store.spark_log import batch_ids
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.checkpoint.versions.versions import Versions
from milepost.errors import LeaseHeldError
from milepost.job.startup import generations
from milepost.pipeline import Plan
from milepost.sink import writers
from milepost.sink.claim import TableClaim, claim, registry_warning, writer_of
from milepost.sink.hbase import HBaseStage
from milepost.sink.newest_versions import free_generation, require_generation
from milepost.sink.writers import Writer


class TableUse(Enum):
    """How a start treats the other writers of its table."""

    CLAIM = "claim"
    """Refuse a table of another pipeline."""
    TAKE_OVER = "take-over"
    """Replace the other pipelines that write the same cells."""
    ON_BEHALF = "on-behalf"
    """Write on behalf of a job that has claimed the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """The start that claims a table: its session, its job and the origin of its state."""

    spark: SparkSession
    job_id: str
    use: TableUse
    state: Store | None
    """The checkpoint directory or savepoint that it resumes from, if any."""
    record: Store
    """The checkpoint directory or savepoint that may have a record of the versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """The entry of a job in the table's list of writers, and the entries that it replaces."""

    stage: HBaseStage
    writer: Writer
    replaced: tuple[Writer, ...]

    def claim(self, spark: SparkSession, warn: Callable[[str], None]) -> TableClaim | None:
        """Record the entry; return None if this user lacks permission in HBase."""
        try:
            return claim(spark, self.stage, self.writer, self.replaced)
        except PermissionError as error:
            warn(registry_warning(self.stage.sink, str(error)))
            return None


def settle_ownership(plan: Plan, starter: Starter) -> tuple[Plan, Ownership | None]:
    """Refuse a table of another pipeline; return the plan with versions above every cell in the table."""
    stage = plan.sink
    if not isinstance(stage, HBaseStage) or starter.use is TableUse.ON_BEHALF:
        return plan, None
    writer = _writer(plan, stage, starter)
    before = writers.predecessors(stage.registry, writer)
    others = writers.other_writers(stage.registry, writer)
    if not stage.table_exists:
        # Entries of a dropped table are replaced, unless a running job has claimed it and is about to create it.
        gone = (*before, *(each for each in others if not (each.is_shared or writer.is_shared)))
        _require_not_running(stage.sink.table, (each for each in gone if each.key != writer.key))
        return plan, Ownership(stage=stage, writer=writer, replaced=gone)
    if starter.use is TableUse.TAKE_OVER:
        before = (*before, *(each for each in others if not each.is_shared))
        others = tuple(each for each in others if each.is_shared)
    writers.require_no_conflict(stage.sink.table, writer, others)
    _require_not_running(stage.sink.table, (each for each in before if each.key != writer.key))
    settled = _raise_versions(_continue_eras(plan, starter, before), stage, starter, before)
    notes = (
        *_notes(stage, writer, before, others),
        *_version_note(stage.sink.table, plan.versions, settled.versions),
    )
    settled = replace(settled, warnings=(*plan.warnings, *notes))
    return settled, Ownership(stage=stage, writer=_writer(settled, stage, starter), replaced=before)


def _writer(plan: Plan, stage: HBaseStage, starter: Starter) -> Writer:
    known = plan.versions or Versions()
    writer = writer_of(
        stage.sink,
        name=plan.config.name,
        directory=Store.at(plan.config.checkpointing.dir).address(""),
        job_id=starter.job_id,
        since=utc_now().isoformat(timespec="seconds"),
    )
    eras = known.topics if writer.version == "offset" else {}
    return replace(writer, generation=known.generation, topic_ids=plan.topic_ids, eras=eras)


def _continue_eras(plan: Plan, starter: Starter, before: Iterable[Writer]) -> Plan:
    """Return the plan with the eras that are in the registry but not in the directory."""
    if plan.versions is None:
        return plan
    is_known = generations.is_recorded(starter.record)
    return replace(plan, versions=writers.continued_versions(plan.versions, before, is_known=is_known))


def _raise_versions(plan: Plan, stage: HBaseStage, starter: Starter, before: Sequence[Writer]) -> Plan:
    """Return the plan with versions above those of the recorded writers, or of the cells if there is none."""
    writer = _writer(plan, stage, starter)
    if before:
        highest = max((each.highest_generation for each in before if not each.has_times), default=0)
        writers.require_times_visible(stage.sink.table, writer, highest)
        newest = -1 if starter.state is None else max(batch_ids(starter.state, OFFSETS), default=-1)
        generation = writers.generation_above(writer, newest, before, stage.registry)
    else:
        is_known = generations.is_recorded(starter.record)
        free = free_generation(starter.spark, stage.sink)
        if not is_known:
            writers.require_times_visible(stage.sink.table, writer, free - 1)
        # With a guard, only the guard cell's version is compared.
        is_hidden = writer.guard == "none" and writer.lowest_generation < (free - 1 if is_known else free)
        generation = free if is_hidden else None
    if plan.versions is None or generation is None:
        return plan
    require_generation(stage.sink, generation)
    return replace(plan, versions=versions.raised(plan.versions, generation, plan.start.offsets()))


def _require_not_running(table: str, others: Iterable[Writer]) -> None:
    """Refuse to take over a table from a running driver, as far as its directory is visible from here."""
    for other in others:
        holder = lease.holder(Store.at(other.directory))
        if holder is not None:
            raise LeaseHeldError(
                f"Job {other.name!r} is running in {other.directory} and writes to table {table!r}: {holder}",
                why="two jobs that write the same cells hide each other's rows",
                fix="Stop that job first, or write to another table",
            )


def _notes(
    stage: HBaseStage, writer: Writer, before: Iterable[Writer], others: Iterable[Writer]
) -> Iterator[str]:
    table, registry = stage.sink.table, stage.registry
    if registry.refusal is not None:
        yield registry_warning(stage.sink, registry.refusal)
    for each in before:
        if each.key != writer.key:
            yield (
                f"Pipeline {each.name!r} has written to table {table!r} from {each.directory}. This start takes over "
                "the table: a job that still runs there stops at its next checkpoint."
            )
    yield from writers.sharing_warnings(table, writer, others)


def _version_note(table: str, known: Versions | None, settled: Versions | None) -> Iterator[str]:
    """Yield a note if the versions in the table were not recorded in the checkpoint directory."""
    if settled is not None and known != settled:
        generation = max([settled.generation, *map(versions.generation_of, settled.topics.values())])
        yield (
            f"checkpointing.dir has no record of the versions in table {table!r}. This job continues in generation "
            f"{generation}, so that its cells are above them."
        )
