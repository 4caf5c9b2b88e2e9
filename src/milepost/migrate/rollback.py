"""Rolls a job back to an older checkpoint or a savepoint: its directory, and its table where versions allow it."""

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
    Rewound,
    gathered,
    require_older_versions,
    rewind_newer,
    told,
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
    """Where a job goes back to."""

    name: str
    """As a person calls it: `checkpoint 7`, or the savepoint's path."""
    batch: CompletedBatch
    savepoint: Savepoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRewind:
    """How the table goes back, and what was found of it."""

    sink: HBaseSink
    facts: TableFacts
    rewind: Rewind
    found: Rewound = field(default_factory=Rewound)


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBack:
    """A roll back that has passed every check and may be done."""

    spec: JobSpec
    store: Store
    boundary: Boundary
    starts: Mapping[str, StartPlan]
    """Where each source will go on."""
    ends: Offsets
    """How far the job has read, or may have."""
    table: TableRewind | None
    """None where the table stays as it is."""

    @property
    def records(self) -> int:
        """How many records will be read again."""
        begun = multiple_sources.combine_plans(self.starts.values()).offsets()
        return sum(end - begun[topic][p] for topic, parts in self.ends.items() for p, end in parts.items())

    def apply(self, command: str) -> Rewound | None:
        """Do it, look again, and return what the second look has found; None where the table stays as it is."""
        lease = Lease.acquire(self.store, self.spec.job_id)
        try:
            if _ends(self.spec, self.store, self.starts) != self.ends:
                raise PreflightError(
                    f"Job {self.spec.config.name!r} has run since it was looked at", fix="Run this again"
                )
            if marker.command(self.store) is None:
                rollback.clear_rolled_back(self.store)
            marker.begin(self.store, command)
            after = None
            if self.table is not None:
                self._look(self.table, apply=True)
                after = self._look(self.table, apply=False)
                require_done(after)
                versions.record(self.store, self.table.rewind.versions)
            elif (known := _kept_table(self.spec.config, self.store)) is not None:
                versions.record(self.store, known)
            if self.boundary.savepoint is None:
                rollback.roll_back(self.store, self.boundary.batch.batch_id)
            else:
                install(self.boundary.savepoint, self.store, location_of(self.store))
            marker.end(self.store)
            return after
        finally:
            lease.release()

    def looked(self) -> RollBack:
        """Return the same with what a look at the table has found; nothing is changed by it."""
        if self.table is None:
            return self
        return replace(self, table=replace(self.table, found=self._look(self.table, apply=False)))

    def _look(self, table: TableRewind, *, apply: bool) -> Rewound:
        option = told(table.sink, table.facts, table.rewind, apply=apply)
        spark, limit = self.spec.spark, table.rewind.limit
        if limit is not None:
            return gathered(spark, option, lambda: rewind_newer(spark, table.sink, limit, option))
        if self.records == 0:
            return Rewound()
        return gathered(spark, option, lambda: self._read_again(option))

    def _read_again(self, option: Mapping[str, str]) -> None:
        """Read the records since the boundary again, by a job in a directory of its own, and roll back their rows."""
        with tempfile.TemporaryDirectory(prefix="milepost-rollback-") as folder:
            config = rereading(self.spec.config, Path(folder), self.starts, self.ends)
            spec = replace(self.spec, config=config, participants=Participants([]), options=_ON_BEHALF)
            prepared = prepare_job(spec)
            query = replace(prepared.query, sink_options=prepared.query.sink_options | dict(option))
            job = start_job(replace(prepared, query=query))
            if job.wait() is not JobStatus.FINISHED:
                raise job.error or JobFailedError("The table could not be looked at", fix="Run it again")


def inspect(spec: JobSpec, to: str, *, keep_table: bool) -> RollBack:
    """Check the directory, the broker and the table; refuse what cannot go back, and say what can."""
    config = spec.config
    if spec.discards_state:
        raise PreflightError(
            "checkpointing.state-backend is memory, and such a job goes back nowhere",
            why="what it knows ends with its process, and the next start begins anew",
            fix="Set checkpointing.state-backend to filesystem or rocksdb for the next time",
        )
    store = Store.at(config.checkpointing.dir)
    require_own(store, config.name)
    boundary = boundary_of(store, to, config.name)
    starts = _starts(spec, store, boundary)
    ends = _ends(spec, store, starts)
    table = None if keep_table else _table(spec, store, boundary)
    return RollBack(spec=spec, store=store, boundary=boundary, starts=starts, ends=ends, table=table)


def require_own(store: Store, name: str) -> None:
    """Refuse a directory that is not this job's, or that another command has not left whole."""
    begun = marker.command(store)
    if begun is not None and not begun.startswith(COMMAND):
        marker.require_finished(store)
    job = recorded_job(store)
    if job is None or job.name != name:
        raise PreflightError(
            f"{store.address('')} is not the checkpoint directory of job {name!r}",
            why="no job has run in it yet" if job is None else f"it is that of job {job.name!r}",
            fix="Give the file of the job that is to go back",
        )


def boundary_of(store: Store, to: str, name: str) -> Boundary:
    """Return what `checkpoint:N`, or the path of a savepoint, stands for."""
    if to.startswith(_CHECKPOINT):
        number = to.removeprefix(_CHECKPOINT)
        if not number.isascii() or not number.isdigit():
            raise PreflightError(
                f"{to!r} names no checkpoint", fix="Write --to checkpoint:7, or the path of a savepoint"
            )
        return Boundary(name=f"checkpoint {int(number)}", batch=rollback.retained(store, int(number)))
    savepoint = catalog.load(to)
    if savepoint.job_name != name:
        raise PreflightError(
            f"The savepoint at {to} is of job {savepoint.job_name!r}, and this job is {name!r}",
            why="its offsets say nothing about the rows of this job",
            fix="Give a savepoint of this job",
        )
    checkpoint_id = savepoint.checkpoint_id
    batch = CompletedBatch(checkpoint_id, read_offsets(verify(savepoint), checkpoint_id))
    return Boundary(name=f"savepoint {to}", batch=batch, savepoint=savepoint)


def _starts(spec: JobSpec, store: Store, boundary: Boundary) -> dict[str, StartPlan]:
    """Return where each source goes on, or refuse offsets that the broker does not have any more."""
    views, recorded = spec.config.views, identity.recorded(store)
    known = {view: pipeline.topics(spec.spark, source) for view, source in views.items()}
    shares = multiple_sources.split_offsets(merge_offsets(boundary.batch.sources), views, known)
    plans = {}
    for view, source in views.items():
        require_same_topics(recorded, known[view])
        batch = CompletedBatch(boundary.batch.batch_id, (shares[view],))
        plans[view] = kafka.plan_start(source, known[view], batch, None)
    return plans


def _ends(spec: JobSpec, store: Store, starts: Mapping[str, StartPlan]) -> Offsets:
    """Return how far records may have been written: in micro-batch execution a batch is logged before it is written."""
    newest = max(batch_ids(store, OFFSETS), default=None)
    is_logged = spec.config.checkpointing.execution == "micro-batch" and newest is not None
    logged = merge_offsets(read_offsets(store, newest)) if is_logged and newest is not None else {}
    ends: dict[str, dict[int, int]] = {}
    for each in (each for plan in starts.values() for each in plan.partitions):
        end = logged.get(each.topic, {}).get(each.partition, each.offset) if is_logged else each.latest
        ends.setdefault(each.topic, {})[each.partition] = max(each.offset, end)
    return ends


def _table(spec: JobSpec, store: Store, boundary: Boundary) -> TableRewind | None:
    """Return how the table can go back; None where the sink is no table."""
    sink = spec.config.sink.kind
    if not isinstance(sink, HBaseSink):
        return None
    facts = table_facts(spec.spark, sink)
    if not facts.exists:
        return None
    require_older_versions(sink, facts)
    known = versions.recorded(store) or Versions()
    if sink.version == "checkpoint":
        rewind = by_checkpoint(known, boundary.batch.batch_id)
    else:
        rewind = by_offset(known, merge_offsets(boundary.batch.sources))
    return TableRewind(sink=sink, facts=facts, rewind=rewind)


def _kept_table(config: Config, store: Store) -> Versions | None:
    """Return how versions go on where the table stays: checkpoints that are counted again must not hide."""
    sink, known = config.sink.kind, versions.recorded(store)
    if known is None or not isinstance(sink, HBaseSink) or sink.version != "checkpoint":
        return None
    return replace(known, generation=known.generation + 1)


def rereading(config: Config, folder: Path, starts: Mapping[str, StartPlan], ends: Offsets) -> Config:
    """Return the pipeline as one that reads a part of its topics again, and leaves no trace but in the table."""

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


def require_done(after: Rewound) -> None:
    """Refuse to go on where the second look finds something that should have gone back."""
    left = after.restored + after.removed
    if left:
        raise JobFailedError(
            f"{left:,} cells are not what they were at the boundary, although they were written",
            why="something writes into the table: a job that still runs, or another program",
            fix="Stop it, and run the same command again",
        )
