"""`milepost demo failure`: the sink fails on the 8th record, and the records after the last checkpoint are replayed."""

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
from milepost.demo.arrivals import Arrival, read, repeated_arrivals
from milepost.demo.driver import Driver
from milepost.demo.environment import (
    DemoEnvironment,
    DemoOptions,
    demo_environment,
    verify_table,
)
from milepost.demo.producer import LiveProducer, create_topic
from milepost.demo.workload import Event
from milepost.errors import JobFailedError, VerificationError
from milepost.verify import Report

RECORDS = (8, 6)
"""The number of records in each partition."""
FIRST_CHECKPOINT = 7
"""The number of records up to the first checkpoint. Spark divides it in proportion to the partitions: 4 and 3."""
FAILS_ON = FIRST_CHECKPOINT + 1

_TIMEOUT = 180.0
_MODULE = f"""from pathlib import Path

from milepost.demo.arrivals import fail_on

watched = fail_on({FAILS_ON}, Path(__file__).with_name("arrivals.jsonl"))
"""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The arrivals, checkpoints and exceptions of the job, from its files."""

    arrivals: Sequence[Arrival]
    checkpoints: Sequence[CompletedCheckpoint]
    """Oldest first."""
    exceptions: Sequence[ExceptionEntry]
    """Oldest first."""

    @classmethod
    def of(cls, environment: DemoEnvironment) -> RunRecord:
        """Read the files of the job."""
        history = History(LocalStore(environment.layout.root))
        done = [event for event in reversed(history.read()) if isinstance(event, CompletedCheckpoint)]
        return cls(read(environment.folder / "arrivals.jsonl"), done, history.exceptions()[::-1])

    def checkpoints_of(self, attempt: int) -> list[CompletedCheckpoint]:
        """Return the checkpoints of one attempt, counted from 1, that advanced the offsets."""
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


def run(demo: DemoOptions) -> Report:
    """Run the demo; raise an error unless exactly the records after the last checkpoint are replayed."""
    with demo_environment(demo, "failure") as environment:
        pipeline = write_pipeline(environment)
        _produce(demo, environment)
        demo.say(f"3. Running `milepost run pipeline.yaml`, whose sink fails on the {FAILS_ON}th record")
        demo.say("   Spark passes records to Python in groups, so a few more have been received by then")
        with Driver(pipeline, environment.folder / "run.log", environment.layout) as driver:
            code = driver.wait(timeout=_TIMEOUT)
        if code != 0:
            raise JobFailedError(f"The job ended with exit code {code}", why=f"see {driver.log}")
        record = RunRecord.of(environment)
        for line in attempt_lines(record):
            demo.say(f"   {line}")
        demo.say(
            "4. Received twice: exactly the records after the last checkpoint, in order within each partition"
        )
        for line in _replay_lines(require_replay(record)):
            demo.say(f"   {line}")
        demo.say("5. Comparing the table with the log, with a checker that shares no code with the sink")
        config = load_config(pipeline)
        # The checker does not support transformations; this one changes nothing.
        return verify_table(demo, config.model_copy(update={"transform": None}), environment.folder)


def write_pipeline(environment: DemoEnvironment) -> Path:
    """Write the pipeline and its transformation, and return the pipeline's file."""
    (environment.folder / "watched.py").write_text(_MODULE, encoding="utf-8")
    return environment.write_pipeline(
        "failure",
        source={"start": "earliest", "stop": "latest", "max-offsets-per-trigger": FIRST_CHECKPOINT},
        interval="1s",
        transform={"python": "watched:watched"},
        restart={"strategy": "fixed-delay", "attempts": 1, "delay": "1s"},
    )


def orders() -> Iterator[Event]:
    """Yield the records: each is a separate order, in the partition that the demo needs."""
    for partition, count in enumerate(RECORDS):
        for offset in range(count):
            key = f"order-{partition + 1}-{offset}"
            document = {"id": key, "customer": "customer-1", "amount": 1.5, "seq": offset, "op": "upsert"}
            yield Event(key.encode(), json.dumps(document).encode(), partition)


def _produce(demo: DemoOptions, environment: DemoEnvironment) -> None:
    demo.say(f"2. Producing {RECORDS[0]} records into partition 1 and {RECORDS[1]} into partition 2")
    demo.say("   this demo counts partitions from 1; Kafka counts partitions and offsets from 0")
    servers = environment.endpoints.bootstrap_servers
    create_topic(servers, environment.name, len(RECORDS))
    LiveProducer(servers, environment.name, orders()).send(sum(RECORDS))


def attempt_lines(record: RunRecord) -> Iterator[str]:
    """Yield the arrivals, checkpoints and failures of each attempt, line by line."""
    known: set[tuple[int, int]] = set()
    for attempt, arrivals in groupby(record.arrivals, lambda arrival: arrival.attempt):
        yield f"attempt {attempt}"
        checkpoints = record.checkpoints_of(attempt)
        for arrival in arrivals:
            while checkpoints and not _covers(checkpoints[0], arrival):
                yield f"  {_checkpoint_line(checkpoints.pop(0))}"
            yield f"  received {arrival.number:2}: {_name(arrival)}{_remark(arrival, known)}"
            known.add(arrival.record)
        for checkpoint in checkpoints:
            yield f"  {_checkpoint_line(checkpoint)}"
        for exception in record.exceptions[attempt - 1 : attempt]:
            yield f"  failed: {exception.what}"
            yield f"  {exception.status}, by the restart strategy"


def _remark(arrival: Arrival, known: Container[tuple[int, int]]) -> str:
    if arrival.number == FAILS_ON:
        # The records that Spark passed to Python with it are received as well.
        return " <- the sink fails on this record"
    return ", again" if arrival.record in known else ""


def require_replay(record: RunRecord) -> list[Arrival]:
    """Return the repeated arrivals; raise an error unless they are exactly those after the last checkpoint."""
    first = [arrival for arrival in record.arrivals if arrival.attempt == 1]
    completed = record.checkpoints_of(1)
    again = repeated_arrivals(record.arrivals)
    expected = [a.record for a in first if not (completed and _covers(completed[-1], a))]
    # The order matters within a partition only.
    if not expected or _by_partition(a.record for a in again) != _by_partition(expected):
        raise VerificationError(
            "The replayed records are not those after the last checkpoint",
            why=f"these (partition, offset) pairs were replayed: {[a.record for a in again]}; expected: {expected}",
        )
    return again


def _by_partition(records: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the offsets of each partition, in order of arrival."""
    offsets: dict[int, list[int]] = {}
    for partition, offset in records:
        offsets.setdefault(partition, []).append(offset)
    return offsets


def _replay_lines(again: Sequence[Arrival]) -> Iterator[str]:
    for partition, offsets in sorted(_by_partition(arrival.record for arrival in again).items()):
        yield f"partition {partition + 1}: offsets {', '.join(map(str, offsets))}"


def _covers(checkpoint: CompletedCheckpoint, arrival: Arrival) -> bool:
    return arrival.offset < _offsets(checkpoint)[arrival.partition]


def _offsets(checkpoint: CompletedCheckpoint) -> Mapping[int, int]:
    return next(iter(checkpoint.sources[0].values()))


def _checkpoint_line(checkpoint: CompletedCheckpoint) -> str:
    places = (
        f"partition {p + 1} is at offset {offset}" for p, offset in sorted(_offsets(checkpoint).items())
    )
    return f"checkpoint {checkpoint.checkpoint_id}: {', '.join(places)}"


def _name(arrival: Arrival) -> str:
    return f"partition {arrival.partition + 1} offset {arrival.offset}"
