"""examples/counters.yaml: sums from Spark's state, killed in the middle of a write and before a commit, count once."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import yaml
from tests.system.drivers import Driver, left, write_pipeline
from tests.system.lab import Lab, Sent

from milepost.checkpoint.store.layout import Layout
from milepost.config import load_config

EXAMPLE = Path(__file__).parents[2] / "examples" / "counters.yaml"
RECORDS = 600
PARTITIONS = 2


def orders() -> tuple[list[Sent], dict[str, tuple[int, Decimal]]]:
    """Return orders of few customers, and what their counters must say."""
    choose = random.Random(4)
    sent: list[Sent] = []
    counters: defaultdict[str, tuple[int, Decimal]] = defaultdict(lambda: (0, Decimal()))
    for number in range(RECORDS):
        customer, cents = f"c{choose.randrange(40)}", choose.randrange(1, 100_000)
        document = f'{{"customer": "{customer}", "amount": {cents // 100}.{cents % 100:02d}}}'
        sent.append(Sent(document.encode(), None, number % PARTITIONS))
        count, amount = counters[customer]
        counters[customer] = (count + 1, amount + Decimal(cents).scaleb(-2))
    sent.append(Sent(None, b"c0"))
    return sent, dict(counters)


def test_counters_equal_the_log_whenever_the_job_was_killed(lab: Lab) -> None:
    sent, counters = orders()
    folder, topic = lab.folder("counters"), lab.topic(*sent, partitions=PARTITIONS)
    document = yaml.safe_load(EXAMPLE.read_text())
    document["source"]["kafka"] |= {
        "bootstrap-servers": lab.services.bootstrap_servers,
        "topics": [topic],
        "stop": "latest",
        "max-offsets-per-trigger": 150,
    }
    document["sink"]["hbase"] |= {
        "quorum": lab.services.quorum,
        "table": lab.name("counters"),
        "flush": {"rows": 3},
    }
    document["checkpointing"] = {"dir": str(folder / "checkpoint"), "interval": "0s"}
    document["spark"] = {"master": "local[2]", "conf": {"spark.sql.shuffle.partitions": 2}}
    file, layout = write_pipeline(folder, document), Layout(folder / "checkpoint")
    for failpoint in ("4-write@20", "7-commit-before@1"):
        with Driver(file, f"{failpoint}=kill") as driver:
            assert driver.end() == -9, driver.output
        assert left(layout).begun, "it was not killed in the middle"
    with Driver(file) as driver:
        assert driver.end() == 0, driver.output
    rows = lab.rows(load_config(file), "customer STRING, orders BIGINT, amount DECIMAL(22, 2)")
    assert {row.customer: (row.orders, row.amount) for row in rows} == counters
    assert sum(row.orders for row in rows) == RECORDS
