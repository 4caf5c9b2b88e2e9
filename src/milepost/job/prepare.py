"""Runs the start-up checks of a job and builds its query; starts nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from milepost import pipeline
from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.model import Offsets
from milepost.checkpoint.recovery.fall_back import fall_back
from milepost.checkpoint.recovery.preflight import check_directory, find_damage, require_job
from milepost.checkpoint.savepoint.check import differences, require_same
from milepost.checkpoint.savepoint.job_outline import outline
from milepost.checkpoint.savepoint.restore import verify
from milepost.checkpoint.store import identity
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.operators import recorded_operators, require_same_operators
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.versions.versions import Versions
from milepost.engine import jvm
from milepost.errors import MilepostError
from milepost.job.spark.settings import require_pinned_settings
from milepost.job.spec import JobSpec
from milepost.job.startup import generations
from milepost.job.startup.table_ownership import Ownership, Starter, TableUse, settle_ownership
from milepost.source.positions import merge_offsets
from milepost.source.start_offsets import beginnings, stop_at_latest
from milepost.source.topic_facts import find_topic_change


@dataclass(frozen=True, slots=True)
class PreparedJob:
    """A job that has passed every start-up check and can be started."""

    spec: JobSpec
    plan: pipeline.Plan
    engine_job: Any
    query: pipeline.Query
    began: datetime
    """When its preparation began."""
    ownership: Ownership | None = None
    """Its entry among the writers of the table; None if the sink has no such entry."""

    def topic_fault(self) -> str | None:
        """Ask Kafka which topic of the plan is gone or replaced; None if Kafka does not answer."""
        with suppress(MilepostError):
            views = self.plan.config.views.values()
            known = {
                name: topic.topic_id
                for source in views
                for name, topic in pipeline.topics(self.spec.spark, source).topics.items()
            }
            change = find_topic_change(self.plan.topic_ids, known)
            return None if change is None else str(change)
        return None

    def begin_offsets(self) -> Offsets:
        """Ask Kafka for the current beginning of every partition."""
        views = self.plan.config.views.values()
        return merge_offsets(beginnings(pipeline.topics(self.spec.spark, source)) for source in views)

    def end_offsets(self) -> Offsets:
        """Ask Kafka for the current end of every partition."""
        views = self.plan.config.views.values()
        return merge_offsets(stop_at_latest(pipeline.topics(self.spec.spark, source)) for source in views)


def recover_from_damage(spec: JobSpec) -> None:
    """Fall back from damage in the checkpoint directory if the configuration says so."""
    checkpointing, name = spec.config.checkpointing, spec.config.name
    if checkpointing.on_damage == "fail" or spec.discards_state or spec.savepoint is not None:
        return
    store = Store.at(checkpointing.dir)
    if not find_damage(store, job_name=name):
        return
    lease = Lease.acquire(store, spec.job_id)
    try:
        fell_back = fall_back(store, job_name=name)
    finally:
        lease.release()
    if fell_back is not None:
        damaged = ", ".join(each.name for each in fell_back.damage)
        spec.warn(
            f"The checkpoint directory was damaged ({damaged}); falling back to checkpoint "
            f"{fell_back.checkpoint_id}. The files that were set aside are in {fell_back.folder}"
        )


def prepare_job(spec: JobSpec) -> PreparedJob:
    """Run every start-up check, and return a job that can be started."""
    store, savepoint = Store.at(spec.config.checkpointing.dir), spec.savepoint
    if savepoint is None:
        return prepare_from(spec, store)
    require_job(store, spec.config.name)
    found = differences(savepoint, spec.config.name, outline(spec.config))
    require_same(savepoint, found, is_allowed=spec.options.allow_non_restored_state)
    return prepare_from(spec, verify(savepoint))


def prepare_from(spec: JobSpec, store: Store) -> PreparedJob:
    """Run every check for a job that resumes from the state in this directory."""
    began = utc_now()
    _require_state(spec, store)
    engine_job = _create_engine_job(spec)
    plan, ownership = settle_ownership(_plan(spec, store), _starter(spec, store))
    generations.pass_to_engine(plan, store, engine_job)
    query = pipeline.build(spec.spark, plan, engine_job, spec.transformation, spec.folder)
    if plan.completed is not None:
        planned = jvm(spec.spark).io.milepost.plan.StatefulPlan.operators(query.rows._jdf)  # noqa: SLF001 - the Java DataFrame
        require_same_operators(recorded_operators(store), list(planned), store.address(""))
    return PreparedJob(spec, plan, engine_job, query, began, ownership)


def _require_state(spec: JobSpec, store: Store) -> None:
    """Refuse a directory whose state the job cannot resume from."""
    if spec.discards_state:
        require_job(store, spec.config.name)
        return
    saved = spec.savepoint
    check_directory(store, job_name=spec.config.name if saved is None else saved.job_name)
    require_pinned_settings(spec.config, store)


def _create_engine_job(spec: JobSpec) -> Any:
    """Register the job in the driver's JVM in place of the previous attempt's."""
    jobs = jvm(spec.spark).io.milepost.job.Jobs
    jobs.remove(spec.job_id)
    engine_job = jobs.create(spec.job_id)
    context = spec.spark.sparkContext._jsc.sc()  # noqa: SLF001 - Java accumulators
    context.register(engine_job.rejected(), "milepost rejected records")
    context.register(engine_job.acks())
    context.register(engine_job.late())
    return engine_job


def _plan(spec: JobSpec, store: Store) -> pipeline.Plan:
    """Query Kafka and the sink, and decide at which offsets and with which versions the job starts."""
    discarded = identity.recorded(store) if spec.discards_state else spec.discarded_topics
    state = None if spec.discards_state else store
    plan = pipeline.inspect(spec.spark, spec.config, state, spec.folder, discarded)
    before = History(store).plan()
    pipeline.require_guard_kept(plan, before)
    return replace(plan.after(before), versions=_choose_versions(spec, plan, store))


def _choose_versions(spec: JobSpec, plan: pipeline.Plan, store: Store) -> Versions | None:
    if spec.savepoint is not None:
        return generations.for_restore(plan, store, Store.at(spec.config.checkpointing.dir))
    if spec.discards_state:
        return generations.for_fresh_start(plan, store)
    return generations.for_resume(plan, store)


def _starter(spec: JobSpec, store: Store) -> Starter:
    return Starter(
        spark=spec.spark,
        job_id=spec.job_id,
        use=spec.options.table if spec.is_first else TableUse.CLAIM,
        state=None if spec.discards_state else store,
        record=store,
    )
