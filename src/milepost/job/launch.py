"""Brings a pipeline from its configuration to a running job, one refusal at a time."""

from __future__ import annotations

import logging
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from milepost import pipeline
from milepost.checkpoint.clock import utc_now
from milepost.checkpoint.lease.lease import Lease
from milepost.checkpoint.model import CompletedCheckpoint, Offsets
from milepost.checkpoint.observed import Observer, tell
from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.participants.loading import named_participants
from milepost.checkpoint.recovery.discard import delete_checkpoints
from milepost.checkpoint.recovery.fall_back import fall_back
from milepost.checkpoint.recovery.preflight import check_directory, find_damage, require_job
from milepost.checkpoint.savepoint.check import differences, require_same
from milepost.checkpoint.savepoint.claim import Claimed, ClaimMode
from milepost.checkpoint.savepoint.expiry import Keeping
from milepost.checkpoint.savepoint.job_outline import outline
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.savepoint.restore import give_way, install, verified
from milepost.checkpoint.savepoint.schedule import ScheduledSavepoints
from milepost.checkpoint.store import identity
from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.layout import Layout, local_layout
from milepost.checkpoint.store.operators import recorded_operators, require_same_operators
from milepost.checkpoint.store.pinned_settings import (
    HDFS,
    PROVIDER,
    ROCKSDB,
    fixed_settings,
    require_kept,
)
from milepost.checkpoint.store.spark_log import sweep_temporary_files
from milepost.checkpoint.store.store import Store
from milepost.checkpoint.store.unwritable import is_of_a_directory, refused_start, storage_error
from milepost.checkpoint.versions import versions
from milepost.config import Checkpointing, Config
from milepost.engine import jvm
from milepost.errors import MilepostError
from milepost.job.attempt import Attempt, messages_of
from milepost.job.checkpoint_runtime import Spine
from milepost.job.failure import explain
from milepost.job.group_offsets import GroupOffsets
from milepost.job.monitoring import span_sender
from milepost.job.monitoring.logs import CheckpointLog, jvm_settings
from milepost.job.spark.session import Look, session, spark_conf
from milepost.job.startup import generations
from milepost.job.startup.table_ownership import (
    Ownership,
    Starter,
    TableUse,
    settle,
)
from milepost.job.status import JobStatus
from milepost.job.supervisor import Job, Restarts, strategy_of
from milepost.sink.stage import SinkClaim
from milepost.source.multiple_sources import merged
from milepost.source.start_offsets import beginnings, difference, stop_at_latest
from milepost.transform import Transformation, load_object

LOCAL_FILES = "io.milepost.checkpoint.LocalCheckpointFileManager"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is asked of one start, beside the configuration."""

    fresh: bool = False
    """Begin without the state that the checkpoint directory holds."""
    allow_non_restored_state: bool = False
    """Go on although a participant that left state in the checkpoint is no more, or a savepoint is of another job."""
    savepoint: Savepoint | None = None
    """Begin from it, in place of what the checkpoint directory holds."""
    claim_mode: ClaimMode = "no-claim"
    """Whose the savepoint is from then on."""
    table: TableUse = TableUse.CLAIM
    """How the other writers of an HBase table are treated."""

    def discards_state(self, checkpointing: Checkpointing) -> bool:
        """Return whether what an earlier process has left in the checkpoint directory is set aside."""
        ends_with_process = checkpointing.state_backend == "memory"
        return self.savepoint is None and (self.fresh or ends_with_process)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything an attempt at running a pipeline is made of; each attempt is made of it anew."""

    spark: SparkSession
    config: Config
    folder: Path
    log: Path
    transformation: Transformation | None = None
    participants: Participants = field(default_factory=lambda: Participants([]))
    wishes: Wishes = field(default_factory=Wishes)
    warn: Callable[[str], None] = logging.getLogger(__name__).warning
    job_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    is_first: bool = True
    """Nothing has run in this process yet."""
    discarded_topics: Mapping[str, str] = field(default_factory=dict)
    """The ids of the topics that the job had read when this process began."""

    @property
    def begins_anew(self) -> bool:
        """Whether what an earlier process has left in the checkpoint directory is set aside."""
        return self.is_first and self.wishes.discards_state(self.config.checkpointing)

    @property
    def savepoint(self) -> Savepoint | None:
        """The savepoint that takes the place of what the checkpoint directory holds."""
        return self.wishes.savepoint if self.is_first else None

    def mend(self) -> None:
        """Fall back from damage in the checkpoint directory where the configuration says so."""
        checkpointing, name = self.config.checkpointing, self.config.name
        if checkpointing.on_damage == "fail" or self.begins_anew or self.savepoint is not None:
            return
        store = Store.at(checkpointing.dir)
        if not find_damage(store, job_name=name):
            return
        lease = Lease.acquire(store, self.job_id)
        try:
            fell = fall_back(store, job_name=name)
        finally:
            lease.release()
        if fell is not None:
            damaged = ", ".join(each.name for each in fell.damage)
            self.warn(
                f"The checkpoint directory was damaged ({damaged}); falling back to checkpoint "
                f"{fell.checkpoint_id}. What was set aside is in {fell.folder}"
            )

    def prepare(self) -> Prepared:
        """Check everything as it is now, and return what may be started."""
        store, savepoint = Store.at(self.config.checkpointing.dir), self.savepoint
        if savepoint is None:
            return self.prepare_from(store)
        require_job(store, self.config.name)
        found = differences(savepoint, self.config.name, outline(self.config))
        require_same(savepoint, found, is_allowed=self.wishes.allow_non_restored_state)
        return self.prepare_from(verified(savepoint))

    def prepare_from(self, store: Store) -> Prepared:
        """Check everything as if the job were to go on from what this directory holds."""
        began = utc_now()
        if self.begins_anew:
            require_job(store, self.config.name)
        else:
            saved = self.savepoint
            check_directory(store, job_name=self.config.name if saved is None else saved.job_name)
            require_kept(fixed_settings(store), session_settings(self.config), store.address(""))
        jobs = jvm(self.spark).io.milepost.job.Jobs
        jobs.remove(self.job_id)
        engine_job = jobs.create(self.job_id)
        context = self.spark.sparkContext._jsc.sc()  # noqa: SLF001 - accumulators are Java's
        context.register(engine_job.rejected(), "milepost rejected records")
        context.register(engine_job.acks())
        context.register(engine_job.late())
        discarded = identity.recorded(store) if self.begins_anew else self.discarded_topics
        plan = pipeline.inspect(
            self.spark, self.config, None if self.begins_anew else store, self.folder, discarded
        )
        before = History(store).plan()
        pipeline.require_guard_kept(plan, before)
        if self.begins_anew:
            pipeline.require_fresh_start_possible(plan, store)
        plan = replace(plan.after(before), versions=self._versions(plan, store))
        plan, ownership = settle(plan, self._starter(store))
        generations.tell(plan, store, engine_job)
        query = pipeline.build(self.spark, plan, engine_job, self.transformation, self.folder)
        if plan.completed is not None:
            planned = jvm(self.spark).io.milepost.plan.StatefulPlan.operators(query.rows._jdf)  # noqa: SLF001 - the door to Java
            require_same_operators(recorded_operators(store), list(planned), store.address(""))
        return Prepared(self, plan, engine_job, query, began, ownership)

    def _versions(self, plan: pipeline.Plan, store: Store) -> versions.Versions | None:
        if self.savepoint is not None:
            return generations.restored(plan, store, Store.at(self.config.checkpointing.dir))
        versioned = generations.begun_anew if self.begins_anew else generations.resumed
        return versioned(plan, store)

    def _starter(self, store: Store) -> Starter:
        return Starter(
            spark=self.spark,
            job_id=self.job_id,
            use=self.wishes.table if self.is_first else TableUse.CLAIM,
            state=None if self.begins_anew else store,
            memory=store,
        )

    def next_attempt(self, spine: Spine, groups: GroupOffsets, claim: SinkClaim | None) -> Attempt:
        """Prepare and start one more attempt; whatever it fails of goes to the restart strategy as an error of ours."""
        try:
            return self.prepare().attempt(spine, groups, claim)
        except OSError as error:
            raise storage_error(error) from error
        except (Py4JJavaError, PySparkException) as error:
            raise explain(messages_of(error), self.log) from error

    def again(self, store: Store) -> Recipe:
        """Return the recipe of later attempts, which resume from what the first leaves in this directory."""
        # One that begins before the first batch starts from the group, whose offsets may be of these.
        topics = identity.recorded(store) if self.savepoint is None else {}
        return replace(self, is_first=False, discarded_topics=topics)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pipeline that has passed every start-up check and may be started."""

    recipe: Recipe
    plan: pipeline.Plan
    engine_job: Any
    query: pipeline.Query
    began: datetime
    """When its preparation began."""
    ownership: Ownership | None = None
    """Its entry among the writers of the table; None where the sink has none."""

    def start(self) -> Job:
        """Start the job; its later attempts are prepared like the first, from what they find then."""
        recipe, config = self.recipe, self.recipe.config
        with ExitStack() as held:
            groups = GroupOffsets.of(recipe.spark, config, recipe.warn)
            sink = self.plan.sink.participant(recipe.spark, recipe.job_id, Store.at(config.checkpointing.dir))
            participants = recipe.participants.beside(config.sink.key, sink)
            claimed = Claimed(recipe.wishes.savepoint, recipe.wishes.claim_mode)
            observers = self._observers(held)
            spine = Spine.open(config, recipe.job_id, participants, [groups, claimed], observers)
            held.callback(spine.close)
            held.callback(groups.close)
            if sink is not None:
                held.callback(sink.close)
            claim = None if self.ownership is None else self.ownership.claim(recipe.spark, recipe.warn)
            # Before the old state goes: a death in between must not forget what hides behind what.
            self._record_versions(spine.store)
            later = recipe.again(spine.store)
            groups.disown(self.plan.start.disowned)
            if recipe.begins_anew:
                give_way(spine.store)
            elif recipe.savepoint is not None:
                install(recipe.savepoint, spine.store, _location(config.checkpointing))
            identity.record(spine.store, self.plan.topic_ids)
            spine.ledger.history.store_plan(self.plan.document(), config.redacted())
            job = Job(
                self.attempt(spine, groups, claim),
                Restarts(lambda: later.next_attempt(spine, groups, claim), strategy_of(config.restart)),
                coordinator=spine.coordinator,
                savepoints=spine.savepoints,
                history=spine.ledger.history,
                at_end=lambda status: self._at_end(status, spine, ended),
            )
            job.numbers.begin(self.plan.start.offsets(), spine.ledger.epoch, groups.stats)
            self._schedule(spine, held)
            ended = held.pop_all()
            return job

    def _observers(self, held: ExitStack) -> list[Observer]:
        """Return who looks on: the log, and what sends spans where the configuration asks for it."""
        config = self.recipe.config
        if config.telemetry is None:
            return [CheckpointLog()]
        sender = span_sender.SpanSender(config, self.recipe.job_id, self.recipe.warn)
        held.callback(sender.close)
        return [CheckpointLog(), sender]

    def _schedule(self, spine: Spine, held: ExitStack) -> None:
        """Begin with scheduled savepoints where the configuration asks for them."""
        checkpointing = self.recipe.config.checkpointing
        wanted = checkpointing.savepoints
        if wanted.interval and checkpointing.savepoint_dir is not None:
            schedule = ScheduledSavepoints(
                spine.savepoints,
                checkpointing.savepoint_dir,
                job_name=self.recipe.config.name,
                interval=wanted.interval,
                keeping=Keeping(
                    max_count=wanted.max_count,
                    max_age=wanted.max_age,
                    keeps_unrestorable=wanted.unrestorable == "keep",
                ),
                earliest=self.begin_offsets,
            )
            schedule.start()
            held.callback(schedule.stop)

    def attempt(self, spine: Spine, groups: GroupOffsets, claim: SinkClaim | None) -> Attempt:
        """Start the query behind its gate and let the first checkpoint through."""
        spark, checkpointing = self.recipe.spark, self.recipe.config.checkpointing
        # Before anything in the directory is swept or mended: it may be another driver's by now.
        spine.ledger.verify_lease()
        self._record_versions(spine.store)
        self.plan.sink.prepare(spark)
        sweep_temporary_files(spine.store)
        if self.recipe.wishes.allow_non_restored_state:
            restored = spine.restore_known()
        else:
            restored = spine.restore()
        groups.restored(restored, self.plan.topic_ids)
        location = _location(checkpointing)
        with ExitStack() as connected:
            bridge = spine.connect(spark, self.engine_job, claim)
            connected.callback(bridge.stop)
            attempt = Attempt(
                _start_query(self.query, checkpointing, location, self.recipe.config.name),
                self.engine_job,
                spine.coordinator,
                restored=restored,
                log=self.recipe.log,
                at_end=bridge.stop,
            )
            attempt.topic_fault = self.topic_fault
            connected.pop_all()
        if spine.rules.pace.is_free_running:
            attempt.run_free()
        else:
            attempt.run()
        self._tell(spine.observers, restored)
        return attempt

    def _tell(self, observers: tuple[Observer, ...], restored: CompletedCheckpoint | None) -> None:
        ended = utc_now()
        tell(observers, lambda observer: observer.initialized(self.began, ended, restored))

    def _record_versions(self, store: Store) -> None:
        if self.plan.versions is not None:
            versions.record(store, self.plan.versions)

    def _at_end(self, status: JobStatus, spine: Spine, held: ExitStack) -> None:
        """Let everything go, the lease last; a cancelled job takes its checkpoints along where that is asked for."""
        with held:
            if status is JobStatus.CANCELED and self.recipe.config.checkpointing.on_cancel == "delete":
                delete_checkpoints(spine.store)

    def topic_fault(self) -> str | None:
        """Ask Kafka which topic of the plan is gone or another one; None where it does not say."""
        with suppress(MilepostError):
            views = self.plan.config.views.values()
            known = {
                name: topic.topic_id
                for source in views
                for name, topic in pipeline.topics(self.recipe.spark, source).topics.items()
            }
            return difference(self.plan.topic_ids, known)
        return None

    def begin_offsets(self) -> Offsets:
        """Ask Kafka where its topics begin now."""
        views = self.plan.config.views.values()
        return merged(beginnings(pipeline.topics(self.recipe.spark, source)) for source in views)

    def end_offsets(self) -> Offsets:
        """Ask Kafka where its topics end now."""
        views = self.plan.config.views.values()
        return merged(stop_at_latest(pipeline.topics(self.recipe.spark, source)) for source in views)


@contextmanager
def recipe_of(config: Config, folder: Path, look: Look = lambda _: None, **parts: Any) -> Iterator[Recipe]:
    """Open a session and yield what a job is made of; close the session at the end."""
    span_sender.require(config)
    log = _log_file(config, local_layout(config.checkpointing.dir))
    job_id = uuid.uuid4().hex
    share_modules(folder)
    load = partial(load_object, search=folder)
    settings = session_settings(config) | jvm_settings(config, job_id)
    conf = spark_conf(config.spark.master, settings, log)
    with _refused_directories(), session(config.name, conf, log, look) as spark:
        try:
            yield Recipe(
                spark=spark,
                config=config,
                folder=folder,
                log=log,
                job_id=job_id,
                **{"participants": Participants(named_participants(config.participants, load)), **parts},
            )
        except MilepostError as error:
            raise error.map_text(config.redact) from error.__cause__
        except (Py4JJavaError, PySparkException) as error:
            # Its text is asked of the JVM, which is about to end.
            failure = explain(messages_of(error), log)
            raise failure.map_text(config.redact) from None


@contextmanager
def _refused_directories() -> Iterator[None]:
    """Let a directory that takes no file be a refusal; whatever else goes wrong with files is a fault of ours."""
    try:
        yield
    except OSError as error:
        if not is_of_a_directory(error):
            raise
        raise refused_start(error) from error


def _location(checkpointing: Checkpointing) -> str:
    """Return the checkpoint directory as Spark is told it."""
    layout = local_layout(checkpointing.dir)
    return checkpointing.dir if layout is None else layout.location


def _start_query(
    query: pipeline.Query, checkpointing: Checkpointing, location: str, name: str
) -> StreamingQuery:
    writer = (
        query.rows.writeStream.format(query.plan.sink.format)
        .options(**query.sink_options)
        .option("checkpointLocation", location)
        .outputMode("update")
        .queryName(name)
    )
    if checkpointing.execution == "real-time":
        milliseconds = int(checkpointing.interval.total_seconds() * 1000)
        # PySpark's stub does not know the real-time trigger yet.
        writer = writer.trigger(realTime=f"{milliseconds} milliseconds")  # type: ignore[call-overload]
        return cast(StreamingQuery, writer.start())
    return writer.trigger(processingTime="0 seconds").start()


def session_settings(config: Config) -> dict[str, str]:
    """Return the Spark settings that follow from the configuration."""
    checkpointing = config.checkpointing
    settings = {
        "spark.sql.streaming.minBatchesToRetain": str(max(checkpointing.retained, 2)),
        PROVIDER: ROCKSDB if checkpointing.state_backend == "rocksdb" else HDFS,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.realTimeMode.minBatchDuration": "100",
    }
    if local_layout(checkpointing.dir) is not None:
        settings["spark.sql.streaming.checkpointFileManagerClass"] = LOCAL_FILES
    return settings | {key: str(value) for key, value in config.spark.conf.items()}


def _log_file(config: Config, layout: Layout | None) -> Path:
    if layout is not None:
        return layout.driver_log
    return Path(tempfile.gettempdir()) / "milepost" / f"{config.name}.log"


def share_modules(folder: Path) -> None:
    """Let Python workers find the modules beside the pipeline file, as the driver does."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(folder.resolve()) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(folder.resolve()), *filter(None, paths)])
