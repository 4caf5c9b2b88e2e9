"""Brings a pipeline from its configuration to a running job, one refusal at a time."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from milepost import pipeline
from milepost.checkpoint import identity
from milepost.checkpoint.layout import Layout, local_layout
from milepost.checkpoint.lease import Lease
from milepost.checkpoint.model import Offsets
from milepost.checkpoint.sparklog import sweep_temporary_files
from milepost.config import Checkpointing, Config
from milepost.engine import jvm
from milepost.errors import MilepostError
from milepost.job.attempt import Attempt, causes
from milepost.job.failure import explain
from milepost.job.pace import Pace
from milepost.job.session import session, spark_conf
from milepost.job.supervisor import Job, strategy_of
from milepost.source.start import stop_at_latest
from milepost.transform import Transformation

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_LOCAL_FILES = "io.milepost.checkpoint.LocalCheckpointFileManager"
_HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything an attempt at running a pipeline is made of; each attempt is made of it anew."""

    spark: SparkSession
    config: Config
    folder: Path
    log: Path
    transformation: Transformation | None = None
    job_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def prepare(self) -> Prepared:
        """Check everything as it is now, and return what may be started."""
        jobs = jvm(self.spark).io.milepost.job.Jobs
        jobs.remove(self.job_id)
        engine_job = jobs.create(self.job_id)
        listener = jvm(self.spark).io.milepost.job.AckListener(engine_job)
        context = self.spark.sparkContext._jsc.sc()  # noqa: SLF001 - listeners and accumulators are Java's
        context.register(engine_job.rejected(), "milepost rejected records")
        plan = pipeline.inspect(self.spark, self.config, local_layout(self.config.checkpointing.dir))
        query = pipeline.build(self.spark, plan, engine_job, self.transformation, self.folder)
        return Prepared(self, plan, engine_job, listener, query)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pipeline that has passed every start-up check and may be started."""

    recipe: Recipe
    plan: pipeline.Plan
    engine_job: Any
    listener: Any
    query: pipeline.Query

    def start(self) -> Job:
        """Start the job; its later attempts are prepared like the first, from what they find then."""
        layout = local_layout(self.recipe.config.checkpointing.dir)
        with ExitStack() as held:
            if layout is not None:
                # Taken before anything is written or swept, and kept over restarts.
                held.callback(Lease.acquire(layout, self.recipe.job_id).release)
                identity.record(layout, self.plan.topic_ids)
            return Job(
                self.attempt(),
                again=lambda: self.recipe.prepare().attempt(),
                strategy=strategy_of(self.recipe.config.restart),
                redact=self.recipe.config.redact,
                at_end=held.pop_all().close,
            )

    def attempt(self) -> Attempt:
        """Start the query behind its gate and let the first checkpoint through."""
        spark, checkpointing = self.recipe.spark, self.recipe.config.checkpointing
        pipeline.create_table(spark, self.plan)
        layout = local_layout(checkpointing.dir)
        if layout is not None:
            sweep_temporary_files(layout)
        context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - listeners are Java's
        context.addSparkListener(self.listener)
        location = checkpointing.dir if layout is None else layout.location
        query = _start_query(self.query, checkpointing, location, self.recipe.config.name)
        pace = Pace(checkpointing.interval.total_seconds(), checkpointing.min_pause.total_seconds())
        if checkpointing.execution == "real-time":
            pace = Pace(0, 0)  # the trigger itself has the interval
        attempt = Attempt(
            query,
            self.engine_job,
            pace=pace,
            timeout=(checkpointing.timeout + checkpointing.interval).total_seconds(),
            log=self.recipe.log,
            at_end=lambda: context.removeSparkListener(self.listener),
        )
        attempt.run()
        return attempt

    def end_offsets(self) -> Offsets:
        """Ask Kafka where its topics end now."""
        return stop_at_latest(pipeline.topics(self.recipe.spark, pipeline.source_of(self.plan.config)))


@contextmanager
def prepared(
    config: Config, folder: Path, transformation: Transformation | None = None
) -> Iterator[Prepared]:
    """Open a session, check everything, and yield what may be started; close the session at the end."""
    log = _log_file(config, local_layout(config.checkpointing.dir))
    share_modules(folder)
    conf = spark_conf(config.spark.master, session_settings(config), log)
    with session(config.name, conf, log) as spark:
        recipe = Recipe(spark=spark, config=config, folder=folder, log=log, transformation=transformation)
        try:
            yield recipe.prepare()
        except MilepostError as error:
            raise error.map_text(config.redact) from error.__cause__
        except Py4JJavaError as error:
            # Its text is asked of the JVM, which is about to end.
            failure = explain(causes(error.java_exception), log)
            raise failure.map_text(config.redact) from None


def _start_query(
    query: pipeline.Query, checkpointing: Checkpointing, location: str, name: str
) -> StreamingQuery:
    writer = (
        query.rows.writeStream.format("milepost-hbase")
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
        "spark.sql.streaming.stateStore.providerClass": (
            _ROCKSDB if checkpointing.state_backend == "rocksdb" else _HDFS
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.realTimeMode.minBatchDuration": "100",
    }
    if local_layout(checkpointing.dir) is not None:
        settings["spark.sql.streaming.checkpointFileManagerClass"] = _LOCAL_FILES
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
