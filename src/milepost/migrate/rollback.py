"""Rolls a job back to an older checkpoint or savepoint: its directory, and its table if the versions allow it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from milepost import pipeline
from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.model import Offsets
from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.recovery import marker, rollback
from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.restore import install, verify
from milepost.checkpoint.store import identity
from milepost.checkpoint.store.identity import recorded_job
from milepost.checkpoint.store.layout import OFFSETS
from milepost.checkpoint.store.relocate import location_of
from milepost.checkpoint.store.spark_log import CompletedBatch, batch_ids, read_offsets
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions import versions
from milepost.checkpoint.versions.rollback import Rewind, by_checkpoint, by_offset
from milepost.checkpoint.versions.versions import Versions
from milepost.config import Config, HBaseSink, KafkaSource, Restart
from milepost.config.values.position import AtOffsets, UntilOffsets
from milepost.errors import JobFailedError, PreflightError
from milepost.job.prepare import prepare_job
from milepost.job.spec import JobSpec, StartOptions
from milepost.job.start import start_job
from milepost.job.startup.table_ownership import TableUse
from milepost.job.status import JobStatus
from milepost.migrate.rollback_table import (
    RollbackCounts,
    require_older_versions,
    roll_back_newer_rows,
    rollback_option,
    run_and_count,
)
from milepost.sink.hbase import table_facts
from milepost.sink.table import TableFacts
from milepost.source import kafka, multiple_sources
from milepost.source.positions import merge_offsets
from milepost.source.start_offsets import StartPlan, require_same_topics

COMMAND = "milepost rollback"
_CHECKPOINT = "checkpoint:"
_ON_BEHALF = StartOptions(table=TableUse.ON_BEHALF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """The checkpoint boundary that a job is rolled back to."""

    name: str
    """For display: `checkpoint 7`, or `savepoint` and its path."""
    batch: CompletedBatch
    savepoint: Savepoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRollback:
    """The roll back of the table, and what it would change."""

    sink: HBaseSink
    facts: TableFacts
    limits: Rewind
    found: RollbackCounts = field(default_factory=RollbackCounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """A roll back that has passed every check and can be applied."""

    spec: JobSpec
    store: Store
    boundary: Boundary
    starts: Mapping[str, StartPlan]
    """Where each source resumes."""
    ends: Offsets
    """The end of the records that the job may have written."""
    table: TableRollback | None
    """None if the table stays unchanged."""

    @property
    def records(self) -> int:
        """The number of records that are read again."""
        begins = multiple_sources.combine_plans(self.starts.values()).offsets()
        return sum(end - begins[topic][p] for topic, parts in self.ends.items() for p, end in parts.items())

    def apply(self, command: str) -> RollbackCounts | None:
        """Apply the roll back, inspect the table again, and return the counts; None if the table stays unchanged."""
        lease = Lease.acquire(self.store, self.spec.job_id)
        try:
            if _find_ends(self.spec, self.store, self.starts) != self.ends:
                raise PreflightError(
                    f"Job {self.spec.config.name!r} has run since it was inspected",
                    fix="Run this command again",
                )
            if marker.command(self.store) is None:
                rollback.clear_rolled_back(self.store)
            marker.begin(self.store, command)
            after = None
            if self.table is not None:
                self._process_table(self.table, apply=True)
                after = self._process_table(self.table, apply=False)
                require_done(after)
                versions.record(self.store, self.table.limits.versions)
            elif (known := _raise_generation(self.spec.config, self.store)) is not None:
                versions.record(self.store, known)
            if self.boundary.savepoint is None:
                rollback.roll_back(self.store, self.boundary.batch.batch_id)
            else:
                install(self.boundary.savepoint, self.store, location_of(self.store))
            marker.end(self.store)
            return after
        finally:
            lease.release()

    def inspect_table(self) -> Rollback:
        """Return the roll back with the counts of what it would change in the table; changes nothing."""
        if self.table is None:
            return self
        return replace(self, table=replace(self.table, found=self._process_table(self.table, apply=False)))

    def _process_table(self, table: TableRollback, *, apply: bool) -> RollbackCounts:
        option = rollback_option(table.sink, table.facts, table.limits, apply=apply)
        spark, limit = self.spec.spark, table.limits.limit
        if limit is not None:
            return run_and_count(
                spark, option, lambda: roll_back_newer_rows(spark, table.sink, limit, option)
            )
        if self.records == 0:
            return RollbackCounts()
        return run_and_count(spark, option, lambda: self._replay(option))

    def _replay(self, option: Mapping[str, str]) -> None:
        """Replay the records since the boundary in a job with a temporary directory, and roll back their rows."""
        with tempfile.TemporaryDirectory(prefix="milepost-rollback-") as folder:
            config = make_replay_config(self.spec.config, Path(folder), self.starts, self.ends)
            spec = replace(self.spec, config=config, participants=Participants([]), options=_ON_BEHALF)
            prepared = prepare_job(spec)
            query = replace(prepared.query, sink_options=prepared.query.sink_options | dict(option))
            job = start_job(replace(prepared, query=query))
            if job.wait() is not JobStatus.FINISHED:
                raise job.error or JobFailedError(
                    "The table could not be inspected", fix="Run this command again"
                )


def inspect(spec: JobSpec, to: str, *, keep_table: bool) -> Rollback:
    """Check the directory, the broker and the table; refuse a roll back that is not possible."""
    config = spec.config
    if spec.discards_state:
        raise PreflightError(
            "A job with checkpointing.state-backend memory cannot be rolled back",
            why="its state ends with its process, and the next start is from scratch",
            fix="To allow it in the future, set checkpointing.state-backend to filesystem or rocksdb",
        )
    store = Store.at(config.checkpointing.dir)
    require_own(store, config.name)
    boundary = find_boundary(store, to, config.name)
    starts = _plan_starts(spec, store, boundary)
    ends = _find_ends(spec, store, starts)
    table = None if keep_table else _plan_table(spec, store, boundary)
    return Rollback(spec=spec, store=store, boundary=boundary, starts=starts, ends=ends, table=table)


def require_own(store: Store, name: str) -> None:
    """Refuse a directory that is not this job's, or that another command left incomplete."""
    unfinished = marker.command(store)
    if unfinished is not None and not unfinished.startswith(COMMAND):
        marker.require_finished(store)
    job = recorded_job(store)
    if job is None or job.name != name:
        raise PreflightError(
            f"{store.address('')} is not the checkpoint directory of job {name!r}",
            why="no job has run in it yet" if job is None else f"it belongs to job {job.name!r}",
            fix="Specify the file of the job to roll back",
        )


def find_boundary(store: Store, to: str, name: str) -> Boundary:
    """Return the boundary of `checkpoint:N`, or of the savepoint at a path."""
    if to.startswith(_CHECKPOINT):
        number = to.removeprefix(_CHECKPOINT)
        if not number.isascii() or not number.isdigit():
            raise PreflightError(
                f"{to!r} is not a checkpoint", fix="Use --to checkpoint:7, or the path of a savepoint"
            )
        return Boundary(name=f"checkpoint {int(number)}", batch=rollback.retained(store, int(number)))
    savepoint = catalog.load(to)
    if savepoint.job_name != name:
        raise PreflightError(
            f"The savepoint at {to} belongs to job {savepoint.job_name!r}, and this job is {name!r}",
            why="its offsets say nothing about the rows of this job",
            fix="Specify a savepoint of this job",
        )
    checkpoint_id = savepoint.checkpoint_id
    batch = CompletedBatch(checkpoint_id, read_offsets(verify(savepoint), checkpoint_id))
    return Boundary(name=f"savepoint {to}", batch=batch, savepoint=savepoint)


def _plan_starts(spec: JobSpec, store: Store, boundary: Boundary) -> dict[str, StartPlan]:
    """Return where each source resumes; refuse offsets that the broker no longer has."""
    views, recorded = spec.config.views, identity.recorded(store)
    known = {view: pipeline.topics(spec.spark, source) for view, source in views.items()}
    shares = multiple_sources.split_offsets(merge_offsets(boundary.batch.sources), views, known)
    plans = {}
    for view, source in views.items():
        require_same_topics(recorded, known[view])
        batch = CompletedBatch(boundary.batch.batch_id, (shares[view],))
        plans[view] = kafka.plan_start(source, known[view], batch, None)
    return plans


def _find_ends(spec: JobSpec, store: Store, starts: Mapping[str, StartPlan]) -> Offsets:
    """Return the end of the records that may be written: micro-batch execution logs a batch before it writes it."""
    newest = max(batch_ids(store, OFFSETS), default=None)
    is_logged = spec.config.checkpointing.execution == "micro-batch" and newest is not None
    logged = merge_offsets(read_offsets(store, newest)) if is_logged and newest is not None else {}
    ends: dict[str, dict[int, int]] = {}
    for each in (each for plan in starts.values() for each in plan.partitions):
        end = logged.get(each.topic, {}).get(each.partition, each.offset) if is_logged else each.latest
        ends.setdefault(each.topic, {})[each.partition] = max(each.offset, end)
    return ends


def _plan_table(spec: JobSpec, store: Store, boundary: Boundary) -> TableRollback | None:
    """Return the roll back of the table; None if the sink is not an HBase table, or the table does not exist."""
    sink = spec.config.sink.kind
    if not isinstance(sink, HBaseSink):
        return None
    facts = table_facts(spec.spark, sink)
    if not facts.exists:
        return None
    require_older_versions(sink, facts)
    known = versions.recorded(store) or Versions()
    if sink.version == "checkpoint":
        limits = by_checkpoint(known, boundary.batch.batch_id)
    else:
        limits = by_offset(known, merge_offsets(boundary.batch.sources))
    return TableRollback(sink=sink, facts=facts, limits=limits)


def _raise_generation(config: Config, store: Store) -> Versions | None:
    """Return the versions for an unchanged table: repeated checkpoint ids need a new generation to be visible."""
    sink, known = config.sink.kind, versions.recorded(store)
    if known is None or not isinstance(sink, HBaseSink) or sink.version != "checkpoint":
        return None
    return replace(known, generation=known.generation + 1)


def make_replay_config(
    config: Config, folder: Path, starts: Mapping[str, StartPlan], ends: Offsets
) -> Config:
    """Return the configuration of a job that replays part of the topics and changes only the table."""

    def bounded(view: str, source: KafkaSource) -> KafkaSource:
        begin = starts[view].offsets()
        return source.model_copy(
            update={
                "start": AtOffsets(offsets=begin),
                "stop": UntilOffsets(offsets={topic: ends[topic] for topic in begin}),
                "commit": "disabled",
                "bad_records": "skip",
                "max_offsets_per_trigger": None,
            }
        )

    kafka_of = {view: bounded(view, source) for view, source in config.views.items()}
    changes: dict[str, object] = {
        "participants": (),
        "restart": Restart(strategy="none"),
        "checkpointing": config.checkpointing.model_copy(
            update={
                "dir": str(folder),
                "execution": "micro-batch",
                "interval": timedelta(0),
                "savepoint_dir": None,
            }
        ),
        "sink": config.sink.model_copy(
            update={"to_hbase": config.sink.hbase.model_copy(update={"write": "mutations"})}
        ),
    }
    if config.source is not None:
        changes["source"] = config.source.model_copy(update={"kafka": next(iter(kafka_of.values()))})
    else:
        named = config.sources or {}
        changes["sources"] = {
            view: each.model_copy(update={"kafka": kafka_of[view]}) for view, each in named.items()
        }
    return config.model_copy(update=changes)


def require_done(after: RollbackCounts) -> None:
    """Raise if cells remain that should have been rolled back."""
    left = after.restored + after.removed
    if left:
        raise JobFailedError(
            f"{left:,} cells do not have their values of the boundary, although they were written",
            why="something else writes to the table: a job that is still running, or another program",
            fix="Stop it and run the same command again",
        )
