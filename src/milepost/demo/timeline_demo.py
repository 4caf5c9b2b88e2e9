"""`milepost demo timeline`: the timeline of a checkpoint with two slow participants, in one chain and in two."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from milepost.api import RunningPipeline
from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.participants.chains import Participants
from milepost.checkpoint.participants.participant import SnapshotContext
from milepost.checkpoint.store.layout import Layout
from milepost.config import Config
from milepost.demo.environment import DemoEnvironment, DemoOptions, demo_environment
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.timeline import (
    Arrangement,
    EventKind,
    TimelineEvent,
    order_faults,
    ratio_faults,
    render,
    snapshot_phase,
)
from milepost.demo.workload import Event
from milepost.errors import VerificationError
from milepost.job.prepare import prepare_job
from milepost.job.spark.session import session, spark_conf
from milepost.job.spark.settings import session_settings
from milepost.job.spec import JobSpec
from milepost.job.start import start_job
from milepost.sink.hbase import mapping_options

RECORDS = 3

_SLACK_S = 120.0
"""The time limit of a checkpoint without its snapshots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(DemoOptions):
    """The options of the demo: the duration of each snapshot."""

    seconds: float = 10.0


def run(demo: Timeline) -> dict[Arrangement, list[TimelineEvent]]:
    """Run the demo, print the two timelines, and return their events.

    Raises VerificationError if the order or the duration is not as expected.
    """
    observed: dict[Arrangement, list[TimelineEvent]] = {}
    with demo_environment(demo, "timeline") as environment:
        config = pipeline(environment, Arrangement.CHAINED)
        log = environment.folder / "driver.log"
        demo.say("2. Starting Spark")
        with session(
            config.name, spark_conf(config.spark.master, session_settings(config), log), log
        ) as spark:
            for step, arrangement in enumerate(Arrangement, start=3):
                demo.say(f"{step}. {arrangement.name.lower()}: {arrangement.value}, {_meaning(arrangement)}")
                observed[arrangement] = _observe_checkpoint(demo, environment, spark, arrangement)
                for line in render(observed[arrangement]):
                    demo.say(f"   {line}")
        _check_timelines(demo, observed)
    return observed


def pipeline(environment: DemoEnvironment, arrangement: Arrangement) -> Config:
    """Return a pipeline with its own topic, table and checkpoints, which are taken on demand."""
    name = f"{environment.name}-{arrangement.name.lower()}"
    return Config(
        name=name,
        source={
            "kafka": {
                "bootstrap-servers": environment.endpoints.bootstrap_servers,
                "topics": [name],
                "start": "earliest",
                "format": "string",
            }
        },
        sink={
            "hbase": {
                "quorum": environment.endpoints.quorum,
                "table": name,
                "row-key": ["value"],
                "columns": {"d": ["received"]},
                "create-table": {"regions": 1},
            }
        },
        checkpointing={"dir": str(environment.folder / name), "interval": "1h"},
        spark={"master": "local[2]"},
    )


class SlowParticipant:
    """A participant with a slow snapshot that records its events."""

    def __init__(self, name: str, events: list[TimelineEvent], commits: Path) -> None:
        """Create a fast participant, slow once `seconds` is set; `commits` is Spark's commit log."""
        self.name = name
        self.seconds = 0.0
        self._commits = commits
        self._moments = events

    def snapshot_state(self, context: SnapshotContext) -> int:
        """Wait, and return a value to store."""
        self._record(EventKind.SNAPSHOT_BEGIN, context.checkpoint_id)
        threading.Event().wait(self.seconds)
        self._record(EventKind.SNAPSHOT_END, context.checkpoint_id)
        return context.checkpoint_id

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Record the notification; fail if Spark has not committed the checkpoint."""
        if not (self._commits / str(checkpoint_id)).exists():
            raise VerificationError(
                f"{self.name} was notified of checkpoint {checkpoint_id} before Spark had committed it"
            )
        self._record(EventKind.NOTIFY, checkpoint_id)

    def _record(self, what: EventKind, checkpoint_id: int) -> None:
        self._moments.append(TimelineEvent(time.time(), self.name, what, checkpoint_id))


def _observe_checkpoint(
    demo: Timeline, environment: DemoEnvironment, spark: SparkSession, arrangement: Arrangement
) -> list[TimelineEvent]:
    """Send some records, take a checkpoint, and return its events."""
    config = pipeline(environment, arrangement)
    topic = config.name
    create_topic(environment.endpoints.bootstrap_servers, topic, 1)
    ordered: list[TimelineEvent] = []
    commits = Layout(Path(config.checkpointing.dir)).commits
    participants = [SlowParticipant(name, ordered, commits) for name in ("a", "b")]
    chains = Participants([participants] if arrangement is Arrangement.CHAINED else participants)
    spec = JobSpec(
        spark=spark,
        config=config,
        folder=environment.folder,
        log=environment.folder / "driver.log",
        transformation=_with_arrival_time,
        participants=chains,
    )
    with RunningPipeline(start_job(prepare_job(spec)), ExitStack()) as job:
        # A job starts with a checkpoint of the backlog, which is empty here; no participant is slow yet.
        job.checkpoint(timeout=_SLACK_S)
        for each in participants:
            each.seconds = demo.seconds
        sent = _send(environment, topic)
        checkpoint = job.checkpoint(timeout=_SLACK_S + 2 * demo.seconds)
    number = checkpoint.checkpoint_id
    return [
        *(TimelineEvent(at, "producer", EventKind.SEND, number) for at in sent),
        *(TimelineEvent(at, "task", EventKind.RECEIVE, number) for at in _arrival_times(spark, config)),
        *(event for event in ordered if event.checkpoint_id == number),
        *_manifest_events(checkpoint),
    ]


def _send(environment: DemoEnvironment, topic: str) -> list[float]:
    """Send the records one by one, and return their times."""
    producer = LiveProducer(
        environment.endpoints.bootstrap_servers,
        topic,
        (Event(b"k", str(number).encode()) for number in count()),
    )
    times = []
    for _ in range(RECORDS):
        times.append(time.time())
        producer.send(1)
    producer.close()
    return times


def _with_arrival_time(rows: DataFrame) -> DataFrame:
    """Transformation: add the time at which each record arrives in its task; the table stores it."""
    # Otherwise Spark might evaluate it twice.
    return rows.withColumn("received", F.udf(_now, "double").asNondeterministic()("value"))


# Without type hints: PySpark would treat a function with them as another kind of UDF.
def _now(_value):  # type: ignore[no-untyped-def]
    return time.time()


def _arrival_times(spark: SparkSession, config: Config) -> list[float]:
    """Return the arrival times that the transformation wrote to the table."""
    reader = spark.read.format("milepost-hbase").schema("value STRING, received DOUBLE")
    rows = reader.options(**mapping_options(config.sink.hbase)).load().collect()
    return [row.received for row in rows]


def _manifest_events(checkpoint: CompletedCheckpoint) -> list[TimelineEvent]:
    """Return the trigger, each writer's acknowledgement as received by the coordinator, and the completion."""
    number = checkpoint.checkpoint_id
    writers = [ack for ack in checkpoint.acknowledgements if ack.participant.startswith("writer/")]
    return [
        TimelineEvent(checkpoint.triggered_at.timestamp(), "coordinator", EventKind.TRIGGER, number),
        *(
            TimelineEvent(ack.at.timestamp(), ack.participant, EventKind.ACKNOWLEDGE, number)
            for ack in writers
        ),
        TimelineEvent(checkpoint.completed_at.timestamp(), "coordinator", EventKind.COMPLETE, number),
    ]


def _check_timelines(demo: Timeline, observed: dict[Arrangement, list[TimelineEvent]]) -> None:
    """Print the comparison; raise an error if it is not as expected."""
    chained, keyed = (snapshot_phase(observed[each]) for each in (Arrangement.CHAINED, Arrangement.KEYED))
    faults = [fault for each, events in observed.items() for fault in order_faults(events, each)]
    faults += ratio_faults(chained, keyed)
    if faults:
        raise VerificationError("The timelines are not as expected", why="; ".join(faults))
    demo.say(
        f"Two snapshots of {demo.seconds:g} s each: chained {chained:.1f} s, keyed {keyed:.1f} s, "
        f"ratio {chained / keyed:.2f}"
    )


def _meaning(arrangement: Arrangement) -> str:
    """Return what the arrangement means."""
    if arrangement is Arrangement.CHAINED:
        return "one chain: b starts after a has finished"
    return "which means separate chains: a and b run in parallel"
