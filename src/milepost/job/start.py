"""Starts a prepared job, and prepares and starts its later attempts."""

from __future__ import annotations

from contextlib import ExitStack
from typing import cast

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from milepost import pipeline
from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.listeners import CoordinatorListener, notify
from milepost.checkpoint.recovery.discard import delete_checkpoints
from milepost.checkpoint.savepoint.claim import ClaimedSavepoint
from milepost.checkpoint.savepoint.expiry import SavepointRetention
from milepost.checkpoint.savepoint.restore import install, set_progress_aside
from milepost.checkpoint.savepoint.schedule import ScheduledSavepoints
from milepost.checkpoint.store import identity
from milepost.checkpoint.store.spark_log import sweep_temporary_files
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.store.unwritable import storage_error
from milepost.checkpoint.versions import versions
from milepost.config import Checkpointing
from milepost.job.attempt import Attempt, error_messages
from milepost.job.checkpoint_runtime import CheckpointRuntime
from milepost.job.failure import explain
from milepost.job.group_offsets import GroupOffsets
from milepost.job.monitoring import span_sender
from milepost.job.monitoring.logs import CheckpointLog
from milepost.job.prepare import PreparedJob, prepare_job
from milepost.job.restart import create_strategy
from milepost.job.spark.settings import checkpoint_location
from milepost.job.spec import JobSpec
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job, Restarts
from milepost.sink.stage import SinkClaim


def start_job(prepared: PreparedJob) -> Job:
    """Start the job; each later attempt is prepared like the first, from the state at that time."""
    spec, config, plan = prepared.spec, prepared.spec.config, prepared.plan
    with ExitStack() as held:
        groups = GroupOffsets.of(spec.spark, config, spec.warn)
        sink = plan.sink.participant(spec.spark, spec.job_id, Store.at(config.checkpointing.dir))
        participants = spec.participants.beside(config.sink.key, sink)
        claimed = ClaimedSavepoint(spec.options.savepoint, spec.options.claim_mode)
        listeners = [groups, claimed, *_reporting_listeners(spec, held)]
        runtime = CheckpointRuntime.open(config, spec.job_id, participants, listeners)
        held.callback(runtime.close)
        held.callback(groups.close)
        if sink is not None:
            held.callback(sink.close)
        claim = None if prepared.ownership is None else prepared.ownership.claim(spec.spark, spec.warn)
        # Before the old state is replaced: a crash in between must not lose the order of versions.
        _record_versions(prepared, runtime.store)
        later = spec.for_restart(runtime.store)
        groups.disown(plan.start.disowned)
        _install_state(spec, runtime.store)
        identity.record(runtime.store, plan.topic_ids)
        runtime.ledger.history.store_plan(plan.document(), config.redacted())
        job = Job(
            _start_attempt(prepared, runtime, groups, claim),
            Restarts(lambda: _next_attempt(later, runtime, groups, claim), create_strategy(config.restart)),
            coordinator=runtime.coordinator,
            savepoints=runtime.savepoints,
            history=runtime.ledger.history,
            at_end=lambda status: _at_end(status, config.checkpointing, runtime.store, ended),
        )
        job.counters.begin(plan.start.offsets(), runtime.ledger.epoch, groups.stats)
        _schedule_savepoints(prepared, runtime, held)
        ended = held.pop_all()
        return job


def _install_state(spec: JobSpec, store: Store) -> None:
    """Put the state that the job starts from into the checkpoint directory."""
    if spec.discards_state:
        set_progress_aside(store)
    elif spec.savepoint is not None:
        install(spec.savepoint, store, checkpoint_location(spec.config.checkpointing))


def _reporting_listeners(spec: JobSpec, held: ExitStack) -> list[CoordinatorListener]:
    """Return the listeners that report: the log, and the span sender if it is configured."""
    if spec.config.telemetry is None:
        return [CheckpointLog()]
    sender = span_sender.SpanSender(spec.config, spec.job_id, spec.warn)
    held.callback(sender.close)
    return [CheckpointLog(), sender]


def _schedule_savepoints(prepared: PreparedJob, runtime: CheckpointRuntime, held: ExitStack) -> None:
    """Start the savepoint schedule if one is configured."""
    config = prepared.spec.config
    savepoints, directory = config.checkpointing.savepoints, config.checkpointing.savepoint_dir
    if savepoints.interval and directory is not None:
        schedule = ScheduledSavepoints(
            runtime.savepoints,
            directory,
            job_name=config.name,
            interval=savepoints.interval,
            retention=SavepointRetention(
                max_count=savepoints.max_count,
                max_age=savepoints.max_age,
                keeps_unrestorable=savepoints.unrestorable == "keep",
            ),
            earliest=prepared.begin_offsets,
        )
        schedule.start()
        held.callback(schedule.stop)


def _next_attempt(
    spec: JobSpec, runtime: CheckpointRuntime, groups: GroupOffsets, claim: SinkClaim | None
) -> Attempt:
    """Prepare and start one more attempt; every failure reaches the restart strategy as a Milepost error."""
    try:
        return _start_attempt(prepare_job(spec), runtime, groups, claim)
    except OSError as error:
        raise storage_error(error) from error
    except (Py4JJavaError, PySparkException) as error:
        raise explain(error_messages(error), spec.log) from error


def _start_attempt(
    prepared: PreparedJob, runtime: CheckpointRuntime, groups: GroupOffsets, claim: SinkClaim | None
) -> Attempt:
    """Start the query behind its gate, then start triggering checkpoints."""
    spec, checkpointing = prepared.spec, prepared.spec.config.checkpointing
    # Before anything in the directory is removed or repaired: another driver may own it by now.
    runtime.ledger.verify_lease()
    _record_versions(prepared, runtime.store)
    prepared.plan.sink.prepare(spec.spark)
    sweep_temporary_files(runtime.store)
    allows_unclaimed = spec.options.allow_non_restored_state
    restored = runtime.restore_allowing_unclaimed() if allows_unclaimed else runtime.restore()
    groups.reconcile(restored, prepared.plan.topic_ids)
    with ExitStack() as connected:
        bridge = runtime.connect(spec.spark, prepared.engine_job, claim)
        connected.callback(bridge.stop)
        attempt = Attempt(
            _start_query(prepared.query, checkpointing, spec.config.name),
            prepared.engine_job,
            runtime.coordinator,
            restored=restored,
            log=spec.log,
            on_end=bridge.stop,
        )
        attempt.topic_fault = prepared.topic_fault
        connected.pop_all()
    if runtime.rules.schedule.is_free_running:
        attempt.run_free()
    else:
        attempt.run()
    ended = utc_now()
    notify(runtime.listeners, lambda listener: listener.initialized(prepared.began, ended, restored))
    return attempt


def _record_versions(prepared: PreparedJob, store: Store) -> None:
    if prepared.plan.versions is not None:
        versions.record(store, prepared.plan.versions)


def _at_end(status: JobStatus, checkpointing: Checkpointing, store: Store, held: ExitStack) -> None:
    """Release everything, the lease last; delete the checkpoints of a cancelled job if that is configured."""
    with held:
        if status is JobStatus.CANCELED and checkpointing.on_cancel == "delete":
            delete_checkpoints(store)


def _start_query(query: pipeline.Query, checkpointing: Checkpointing, name: str) -> StreamingQuery:
    writer = (
        query.rows.writeStream.format(query.plan.sink.format)
        .options(**query.sink_options)
        .option("checkpointLocation", checkpoint_location(checkpointing))
        .outputMode("update")
        .queryName(name)
    )
    if checkpointing.execution == "real-time":
        milliseconds = int(checkpointing.interval.total_seconds() * 1000)
        # PySpark's type stub does not have the real-time trigger yet.
        writer = writer.trigger(realTime=f"{milliseconds} milliseconds")  # type: ignore[call-overload]
        return cast(StreamingQuery, writer.start())
    return writer.trigger(processingTime="0 seconds").start()
