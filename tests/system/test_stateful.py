"""The examples with state, and each state backend: killed in the middle, the table is what the log says."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tests.system.drivers import left
from tests.system.lab import Lab, Sent, wait_until

from milepost.checkpoint.store.history import History
from milepost.checkpoint.store.layout import Layout
from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore, Store
from milepost.config import Config, load_config

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PARTITIONS = 2
RECORDS = 160
PER_BATCH = 20
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Job(NamedTuple):
    """A pipeline, its topics and what they hold, and what its table must hold in the end."""

    config: Config
    topics: dict[str, int]
    schema: str
    expected: Callable[[], set[tuple[Any, ...]]]


def moment(seconds: int) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def sent(number: int, **fields: Any) -> Sent:
    document = {key: f"{v:%Y-%m-%dT%H:%M:%SZ}" if isinstance(v, datetime) else v for key, v in fields.items()}
    return Sent(json.dumps(document).encode(), None, number % PARTITIONS)


class Stage:
    """Writes the pipelines of the examples with topics and tables of their own."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder, self.choose = lab, folder, random.Random(6)
        self._later: dict[str, list[Sent]] = {}

    def go_on(self) -> None:
        """Send the third quarter of all records, so that no job can be done before the rest is there."""
        for topic, records in self._later.items():
            self.lab.produce(topic, *records[: len(records) // 2])

    def let_end(self) -> None:
        """Send the rest, and let each pipeline end at the end of its topics."""
        for topic, records in self._later.items():
            self.lab.produce(topic, *records[len(records) // 2 :])
        for file in self.folder.glob("*.yaml"):
            file.write_text(file.read_text().replace("stop: never", "stop: latest"))

    def pipeline(
        self, example: str, topics: dict[str, list[Sent]], **checkpointing: str
    ) -> tuple[Config, Any]:
        document = yaml.safe_load((EXAMPLES / example).read_text())
        document["name"] = self.lab.name(document["name"])
        made = {}
        for view, records in topics.items():
            made[view] = self.lab.topic(*records[: len(records) // 2], partitions=PARTITIONS)
            self._later[made[view]] = records[len(records) // 2 :]
        sources = document["sources"] if "sources" in document else {"source": document["source"]}
        for view, source in sources.items():
            source["kafka"] |= {
                "bootstrap-servers": self.lab.services.bootstrap_servers,
                "topics": [made[view]],
                "group-id": document["name"],
                "stop": "never",
                "max-offsets-per-trigger": PER_BATCH,
            }
        document["sink"]["hbase"] |= {"quorum": self.lab.services.quorum, "table": document["name"]}
        directory = self.folder / document["name"]
        document["checkpointing"] = {"dir": str(directory), "interval": "0s", **checkpointing}
        document["spark"] = {"conf": {"spark.sql.shuffle.partitions": 2}}
        file = self.folder / f"{document['name']}.yaml"
        file.write_text(yaml.safe_dump(document))
        return load_config(file), {made[view]: len(records) for view, records in topics.items()}

    def windows(self) -> Job:
        sums: defaultdict[tuple[str, datetime], list[Decimal]] = defaultdict(list)
        records = []
        for number in range(RECORDS):
            shop, cents, at = (
                f"s{self.choose.randrange(4)}",
                self.choose.randrange(1, 9999),
                moment(number * 6),
            )
            records.append(sent(number, shop=shop, amount=cents / 100, at=at))
            sums[shop, moment(number * 6 // 600 * 600)].append(Decimal(cents).scaleb(-2))
        config, topics = self.pipeline("windows.yaml", {"source": records})
        rows = {(shop, begins, len(paid), sum(paid)) for (shop, begins), paid in sums.items()}
        schema = "shop STRING, begins TIMESTAMP, orders BIGINT, amount DECIMAL(22, 2)"
        return Job(config, topics, schema, lambda: rows)

    def join(self) -> Job:
        orders, payments, rows = [], [], set()
        for number in range(RECORDS):
            customer, at = f"c{number % 7}", moment(number)
            orders.append(sent(number, id=f"o{number}", customer=customer, at=at))
            paid = at + timedelta(seconds=self.choose.choice([0, 60, 3600, 7200]))
            payments.append(sent(number + 1, order_id=f"o{number}", amount=1.25, paid=paid))
            if paid <= at + timedelta(hours=1):
                rows.add((f"o{number}", customer, Decimal("1.25"), paid))
        config, topics = self.pipeline(
            "join.yaml", {"orders": orders, "payments": payments}, **{"state-backend": "filesystem"}
        )
        schema = "id STRING, customer STRING, amount DECIMAL(12, 2), paid TIMESTAMP"
        return Job(config, topics, schema, lambda: rows)

    def deduplication(self) -> Job:
        first: dict[str, str] = {}
        records = []
        for number in range(RECORDS):
            key = f"e{self.choose.randrange(RECORDS // 3)}"
            first.setdefault(key, f"t{number}")
            # The repetitions of an id are in its partition, as a producer's retries are.
            records.append(sent(int(key[1:]), id=key, text=f"t{number}", at=moment(number)))
        config, topics = self.pipeline("deduplication.yaml", {"source": records})
        return Job(config, topics, "id STRING, text STRING", lambda: set(first.items()))

    def changes(self) -> Job:
        last: dict[str, tuple[bool, int]] = {}
        records = []
        for _ in range(RECORDS):
            sensor, is_on = self.choose.randrange(8), self.choose.random() < 0.5
            records.append(sent(sensor, sensor=f"s{sensor}", is_on=is_on))
            before, changes = last.get(f"s{sensor}", (is_on, 0))
            last[f"s{sensor}"] = (is_on, changes + (before != is_on))
        config, topics = self.pipeline("transform-with-state.yaml", {"source": records})
        rows = {(sensor, is_on, changes) for sensor, (is_on, changes) in last.items()}
        return Job(config, topics, "sensor STRING, is_on BOOLEAN, changes BIGINT", lambda: rows)

    def counters(self, backend: str) -> Job:
        """What a memory job counts begins where its last process began: the log from there on is what counts."""
        customers = [f"c{self.choose.randrange(9)}" for _ in range(RECORDS)]
        records = [sent(number, customer=customer, amount=1) for number, customer in enumerate(customers)]
        config, topics = self.pipeline("counters.yaml", {"source": records}, **{"state-backend": backend})
        file = self.folder / f"{config.name}.yaml"
        document = yaml.safe_load(file.read_text())
        document["source"]["kafka"]["start"] = "group-offsets"
        file.write_text(yaml.safe_dump(document))

        def rows() -> set[tuple[Any, ...]]:
            began = {0: 0, 1: 0}
            if backend == "memory":
                plan = History(Store.at(config.checkpointing.dir)).plan() or {}
                began = {each["partition"]: each["offset"] for each in plan["partitions"]}
            counted = Counter(
                customer
                for number, customer in enumerate(customers)
                if number // PARTITIONS >= began[number % PARTITIONS]
            )
            return {(customer, count) for customer, count in counted.items()}

        return Job(load_config(file), topics, "customer STRING, orders BIGINT", rows)


@contextmanager
def jobs_in(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run all pipelines of a folder in a process of their own; whatever is left of it ends with the block."""
    with (folder / "output.log").open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.system.stateful_jobs", str(folder)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def done(job: Job) -> int:
    """Return how many records the newest completed checkpoint of a job is past."""
    completed = newest_completed(LocalStore(Path(job.config.checkpointing.dir)))
    if completed is None:
        return 0
    return sum(sum(parts.values()) for source in completed.sources for parts in source.values())


@pytest.mark.timeout(400)
def test_each_example_and_each_backend_is_what_the_log_says_after_a_kill(lab: Lab) -> None:
    folder = lab.folder("stateful")
    stage = Stage(lab, folder)
    anew = stage.counters("memory")
    jobs = [
        stage.windows(),
        stage.join(),
        stage.deduplication(),
        stage.changes(),
        stage.counters("filesystem"),
        anew,
    ]

    def said() -> str:
        return (folder / "output.log").read_text(errors="replace")

    with jobs_in(folder) as process:
        wait_until(
            lambda: process.poll() is not None or all(done(job) >= 2 * PER_BATCH for job in jobs),
            "every job has completed two checkpoints",
            patience=200,
        )
        assert process.poll() is None, said()
        stage.go_on()
        wait_until(
            lambda: any(left(Layout(Path(job.config.checkpointing.dir))).begun for job in jobs), "a batch"
        )
    for job in jobs:
        assert done(job) < sum(job.topics.values()), f"{job.config.name} was not killed in the middle"
    stage.let_end()
    with jobs_in(folder) as process:
        assert process.wait(200) == 0, said()
    for job in jobs:
        rows = {tuple(row) for row in lab.rows(job.config, job.schema)}
        found = {tuple(_utc(value) for value in row) for row in rows}
        assert found == job.expected(), job.config.name
    began = History(Store.at(anew.config.checkpointing.dir)).plan() or {}
    assert began["resumed-from"] is None
    assert sum(each["offset"] for each in began["partitions"]) > 0, "the group's offsets are what is left"
    assert any("state-backend is memory" in warning for warning in began["warnings"])


def _utc(value: Any) -> Any:
    return value.astimezone(timezone.utc) if isinstance(value, datetime) else value
