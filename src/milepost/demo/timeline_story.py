"""`milepost demo timeline`: one checkpoint with two slow participants, in one chain and in two, as a time line."""

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
from milepost.demo.environment import Stage, Story, staged
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.timeline import (
    Arrangement,
    Moment,
    What,
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
"""What a checkpoint may take beside its snapshots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline(Story):
    """What the demo does: how long each of the two snapshots takes."""

    seconds: float = 10.0


def run(story: Timeline) -> dict[Arrangement, list[Moment]]:
    """Tell the story from the start of the services to the two time lines, and return their moments.

    Raises VerificationError where the order or the time is not the promised one.
    """
    seen: dict[Arrangement, list[Moment]] = {}
    with staged(story, "timeline") as stage:
        config = pipeline(stage, Arrangement.CHAINED)
        log = stage.folder / "driver.log"
        story.say("2. Starting Spark")
        with session(
            config.name, spark_conf(config.spark.master, session_settings(config), log), log
        ) as spark:
            for step, arrangement in enumerate(Arrangement, start=3):
                story.say(f"{step}. {arrangement.name.lower()}: {arrangement.value}, {_meaning(arrangement)}")
                seen[arrangement] = _one_checkpoint(story, stage, spark, arrangement)
                for line in render(seen[arrangement]):
                    story.say(f"   {line}")
        _judge(story, seen)
    return seen


def pipeline(stage: Stage, arrangement: Arrangement) -> Config:
    """Return a pipeline with a topic, a table and checkpoints of its own; checkpoints are taken on demand."""
    name = f"{stage.name}-{arrangement.name.lower()}"
    return Config(
        name=name,
        source={
            "kafka": {
                "bootstrap-servers": stage.endpoints.bootstrap_servers,
                "topics": [name],
                "start": "earliest",
                "format": "string",
            }
        },
        sink={
            "hbase": {
                "quorum": stage.endpoints.quorum,
                "table": name,
                "row-key": ["value"],
                "columns": {"d": ["received"]},
                "create-table": {"regions": 1},
            }
        },
        checkpointing={"dir": str(stage.folder / name), "interval": "1h"},
        spark={"master": "local[2]"},
    )


class Slow:
    """A participant whose snapshot takes a while, and that notes its moments."""

    def __init__(self, name: str, moments: list[Moment], commits: Path) -> None:
        """Be quick until `seconds` is set; `commits` is Spark's commit log."""
        self.name = name
        self.seconds = 0.0
        self._commits = commits
        self._moments = moments

    def snapshot_state(self, context: SnapshotContext) -> int:
        """Take the seconds, and store something, as whoever has a snapshot would."""
        self._note(What.SNAPSHOT_BEGIN, context.checkpoint_id)
        threading.Event().wait(self.seconds)
        self._note(What.SNAPSHOT_END, context.checkpoint_id)
        return context.checkpoint_id

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Note that it was told; a checkpoint that Spark has not committed is none to be told of."""
        if not (self._commits / str(checkpoint_id)).exists():
            raise VerificationError(f"{self.name} was told of {checkpoint_id} before Spark had committed it")
        self._note(What.NOTIFY, checkpoint_id)

    def _note(self, what: What, checkpoint_id: int) -> None:
        self._moments.append(Moment(time.time(), self.name, what, checkpoint_id))


def _one_checkpoint(
    story: Timeline, stage: Stage, spark: SparkSession, arrangement: Arrangement
) -> list[Moment]:
    """Send some records, take a checkpoint, and return everything that was seen of it."""
    config = pipeline(stage, arrangement)
    topic = config.name
    create_topic(stage.endpoints.bootstrap_servers, topic, 1)
    noted: list[Moment] = []
    commits = Layout(Path(config.checkpointing.dir)).commits
    slow = [Slow(name, noted, commits) for name in ("a", "b")]
    chains = Participants([slow] if arrangement is Arrangement.CHAINED else slow)
    spec = JobSpec(
        spark=spark,
        config=config,
        folder=stage.folder,
        log=stage.folder / "driver.log",
        transformation=_with_time_of_receipt,
        participants=chains,
    )
    with RunningPipeline(start_job(prepare_job(spec)), ExitStack()) as job:
        # A job begins with a checkpoint, of whatever is waiting; here nothing is, and nobody is slow yet.
        job.checkpoint(timeout=_SLACK_S)
        for each in slow:
            each.seconds = story.seconds
        sent = _send(stage, topic)
        checkpoint = job.checkpoint(timeout=_SLACK_S + 2 * story.seconds)
    number = checkpoint.checkpoint_id
    return [
        *(Moment(at, "producer", What.SEND, number) for at in sent),
        *(Moment(at, "task", What.RECEIVE, number) for at in _received(spark, config)),
        *(moment for moment in noted if moment.checkpoint_id == number),
        *_from_the_manifest(checkpoint),
    ]


def _send(stage: Stage, topic: str) -> list[float]:
    """Send the records one by one, and return when each was sent."""
    producer = LiveProducer(
        stage.endpoints.bootstrap_servers, topic, (Event(b"k", str(number).encode()) for number in count())
    )
    times = []
    for _ in range(RECORDS):
        times.append(time.time())
        producer.send(1)
    producer.close()
    return times


def _with_time_of_receipt(rows: DataFrame) -> DataFrame:
    """The transformation: note when each record arrives in its task; the table keeps it."""
    # Else Spark might take the time twice.
    return rows.withColumn("received", F.udf(_now, "double").asNondeterministic()("value"))


# Without type hints, which PySpark would take for another kind of function.
def _now(_value):  # type: ignore[no-untyped-def]
    return time.time()


def _received(spark: SparkSession, config: Config) -> list[float]:
    """Return when the records arrived, as the transformation has noted it in the table."""
    reader = spark.read.format("milepost-hbase").schema("value STRING, received DOUBLE")
    rows = reader.options(**mapping_options(config.sink.hbase)).load().collect()
    return [row.received for row in rows]


def _from_the_manifest(checkpoint: CompletedCheckpoint) -> list[Moment]:
    """Return the trigger, when the coordinator heard of each writer's acknowledgement, and the completion."""
    number = checkpoint.checkpoint_id
    writers = [ack for ack in checkpoint.acknowledgements if ack.participant.startswith("writer/")]
    return [
        Moment(checkpoint.triggered_at.timestamp(), "coordinator", What.TRIGGER, number),
        *(Moment(ack.at.timestamp(), ack.participant, What.ACKNOWLEDGE, number) for ack in writers),
        Moment(checkpoint.completed_at.timestamp(), "coordinator", What.COMPLETE, number),
    ]


def _judge(story: Timeline, seen: dict[Arrangement, list[Moment]]) -> None:
    """Tell how the two compare; raise where they are not as promised."""
    chained, keyed = (snapshot_phase(seen[each]) for each in (Arrangement.CHAINED, Arrangement.KEYED))
    faults = [fault for each, moments in seen.items() for fault in order_faults(moments, each)]
    faults += ratio_faults(chained, keyed)
    if faults:
        raise VerificationError("The time lines are not as promised", why="; ".join(faults))
    story.say(
        f"Two snapshots of {story.seconds:g} s each: chained {chained:.1f} s, keyed {keyed:.1f} s, "
        f"ratio {chained / keyed:.2f}"
    )


def _meaning(arrangement: Arrangement) -> str:
    """Return what the documents' word is here."""
    if arrangement is Arrangement.CHAINED:
        return "one chain: b begins when a has ended"
    return "which means separate chains: a and b side by side"
