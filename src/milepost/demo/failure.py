"""`milepost demo failure`: the sink fails on the 8th record; what comes after the last checkpoint comes again."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from milepost.checkpoint.model import CompletedCheckpoint
from milepost.checkpoint.store.history import ExceptionEntry, History
from milepost.checkpoint.store.store import LocalStore
from milepost.config import load_config
from milepost.demo.arrivals import Arrival, read, seen_again
from milepost.demo.driver import Driver
from milepost.demo.environment import (
    Stage,
    Story,
    prove,
    staged,
)
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.workload import Event
from milepost.errors import JobFailedError, VerificationError
from milepost.verify import Report

RECORDS = (8, 6)
"""How many records each partition has."""
FIRST_CHECKPOINT = 7
"""Records up to the first checkpoint. Spark shares them out as the partitions are long: 4 and 3."""
FAILS_ON = FIRST_CHECKPOINT + 1

_TIMEOUT = 180.0
_MODULE = f"""from pathlib import Path

from milepost.demo.arrivals import failing_on

watched = failing_on({FAILS_ON}, Path(__file__).with_name("arrivals.jsonl"))
"""


@dataclass(frozen=True, slots=True)
class Course:
    """How the job went, as its files tell."""

    arrivals: Sequence[Arrival]
    checkpoints: Sequence[CompletedCheckpoint]
    """Oldest first."""
    exceptions: Sequence[ExceptionEntry]
    """Oldest first."""

    @classmethod
    def of(cls, stage: Stage) -> Course:
        """Read what the job has left."""
        history = History(LocalStore(stage.layout.root))
        done = [event for event in reversed(history.read()) if isinstance(event, CompletedCheckpoint)]
        return cls(read(stage.folder / "arrivals.jsonl"), done, history.exceptions()[::-1])

    def checkpoints_of(self, attempt: int) -> list[CompletedCheckpoint]:
        """Return the checkpoints that completed in one attempt, counted from 1, where they moved on."""
        ends = [exception.at for exception in self.exceptions]
        begin = ends[attempt - 2] if attempt > 1 else None
        end = ends[attempt - 1] if attempt <= len(ends) else None
        return [
            checkpoint
            for before, checkpoint in pairwise([None, *self.checkpoints])
            if checkpoint is not None
            and (before is None or before.sources != checkpoint.sources)
            and (begin is None or checkpoint.completed_at > begin)
            and (end is None or checkpoint.completed_at <= end)
        ]


def run(story: Story) -> Report:
    """Tell the story; raise where the records that came again are not those after the last checkpoint."""
    with staged(story, "failure") as stage:
        pipeline = write_pipeline(stage)
        _produce(story, stage)
        story.say(
            f"3. Running `milepost run pipeline.yaml`, which fails on the {FAILS_ON}th record, at its sink"
        )
        story.say("   Spark hands records to Python some at a time, so a few more have come in by then")
        with Driver(pipeline, stage.folder / "run.log", stage.layout) as driver:
            code = driver.wait(timeout=_TIMEOUT)
        if code != 0:
            raise JobFailedError(f"The job ended with exit code {code}", why=f"see {driver.log}")
        course = Course.of(stage)
        for line in told(course):
            story.say(f"   {line}")
        story.say(
            "4. Received twice: exactly what comes after the last checkpoint, in order within each partition"
        )
        for line in _twice(require_replay(course)):
            story.say(f"   {line}")
        story.say("5. Comparing the table with the log, by a checker that shares no code with the sink")
        config = load_config(pipeline)
        # The checker refuses to guess what a transformation does; this one changes nothing.
        return prove(story, config.model_copy(update={"transform": None}), stage.folder)


def write_pipeline(stage: Stage) -> Path:
    """Write the pipeline and the transformation beside it, and return the pipeline's file."""
    (stage.folder / "watched.py").write_text(_MODULE, encoding="utf-8")
    return stage.write_pipeline(
        "failure",
        source={"start": "earliest", "stop": "latest", "max-offsets-per-trigger": FIRST_CHECKPOINT},
        interval="1s",
        transform={"python": "watched:watched"},
        restart={"strategy": "fixed-delay", "attempts": 1, "delay": "1s"},
    )


def orders() -> Iterator[Event]:
    """Yield the records: each is an order of its own, in the partition that the story needs it in."""
    for partition, count in enumerate(RECORDS):
        for offset in range(count):
            key = f"order-{partition + 1}-{offset}"
            document = {"id": key, "customer": "customer-1", "amount": 1.5, "seq": offset, "op": "upsert"}
            yield Event(key.encode(), json.dumps(document).encode(), partition)


def _produce(story: Story, stage: Stage) -> None:
    story.say(f"2. Producing {RECORDS[0]} records into partition 1 and {RECORDS[1]} into partition 2")
    story.say("   partitions are counted from 1 in this story; Kafka counts them from 0, and offsets too")
    servers = stage.endpoints.bootstrap_servers
    create_topic(servers, stage.name, len(RECORDS))
    LiveProducer(servers, stage.name, orders()).send(sum(RECORDS))


def told(course: Course) -> Iterator[str]:
    """Yield what was received in which attempt, and what happened between."""
    known: set[tuple[int, int]] = set()
    for attempt, arrivals in groupby(course.arrivals, lambda arrival: arrival.attempt):
        yield f"attempt {attempt}"
        checkpoints = course.checkpoints_of(attempt)
        for arrival in arrivals:
            while checkpoints and not _covers(checkpoints[0], arrival):
                yield f"  {_standing(checkpoints.pop(0))}"
            yield f"  received {arrival.number:2}: {_name(arrival)}{_remark(arrival, known)}"
            known.add(arrival.record)
        for checkpoint in checkpoints:
            yield f"  {_standing(checkpoint)}"
        for exception in course.exceptions[attempt - 1 : attempt]:
            yield f"  failed: {exception.what}"
            yield f"  {exception.status}, as the restart strategy says"


def _remark(arrival: Arrival, known: Container[tuple[int, int]]) -> str:
    if arrival.number == FAILS_ON:
        # Those that Spark handed to Python together with it are received as well.
        return " <- the sink fails on this one"
    return ", again" if arrival.record in known else ""


def require_replay(course: Course) -> list[Arrival]:
    """Return the receipts of records that had come before; refuse others than those after the last checkpoint."""
    first = [arrival for arrival in course.arrivals if arrival.attempt == 1]
    completed = course.checkpoints_of(1)
    again = seen_again(course.arrivals)
    expected = [a.record for a in first if not (completed and _covers(completed[-1], a))]
    # Order counts within a partition; between partitions there is none.
    if not expected or _by_partition(a.record for a in again) != _by_partition(expected):
        raise VerificationError(
            "The records that came again are not those after the last checkpoint",
            why=f"partition and offset of these came again: {[a.record for a in again]}; expected were {expected}",
        )
    return again


def _by_partition(records: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the offsets of each partition, in the order they came."""
    offsets: dict[int, list[int]] = {}
    for partition, offset in records:
        offsets.setdefault(partition, []).append(offset)
    return offsets


def _twice(again: Sequence[Arrival]) -> Iterator[str]:
    for partition, offsets in sorted(_by_partition(arrival.record for arrival in again).items()):
        yield f"partition {partition + 1}: offsets {', '.join(map(str, offsets))}"


def _covers(checkpoint: CompletedCheckpoint, arrival: Arrival) -> bool:
    return arrival.offset < _offsets(checkpoint)[arrival.partition]


def _offsets(checkpoint: CompletedCheckpoint) -> Mapping[int, int]:
    return next(iter(checkpoint.sources[0].values()))


def _standing(checkpoint: CompletedCheckpoint) -> str:
    places = (
        f"partition {p + 1} stands at offset {offset}" for p, offset in sorted(_offsets(checkpoint).items())
    )
    return f"checkpoint {checkpoint.checkpoint_id}: {', '.join(places)}"


def _name(arrival: Arrival) -> str:
    return f"partition {arrival.partition + 1} offset {arrival.offset}"
