"""Debezium's and Canal's change logs end to end: the table is what the database has, and the checker says so."""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

import pytest
from tests.system.lab import Lab, Sent

from milepost.config import Config
from milepost.job.status import JobStatus
from milepost.verify.oracle import Record, expect
from milepost.verify.proof import mapping_of, verify_pipeline

SCHEMA = "id INT NOT NULL, name STRING, weight DECIMAL(10, 2), active BOOLEAN"
SOURCE = {"connector": "mysql", "db": "inventory", "table": "products"}
Table = dict[int, dict[str, Any]]


class Step(NamedTuple):
    """One statement on the database: rows before and after."""

    before: list[dict[str, Any]]
    after: list[dict[str, Any]]


def history(seed: int, steps: int) -> tuple[list[Step], Table]:
    """Return statements on a small table, and what the table holds after them."""
    choose, table, log = random.Random(seed), Table(), []
    for _ in range(steps):
        ids = choose.sample(range(-6, 30), choose.randint(1, 3))
        known, fresh = [i for i in ids if i in table], [i for i in ids if i not in table]
        if fresh:
            step = Step([], [row(choose, i) for i in fresh])
        elif choose.random() < 0.4:
            step = Step([table[i] for i in known], [])
        else:
            moves = choose.random() < 0.3
            step = Step([table[i] for i in known], [row(choose, i + 100 if moves else i) for i in known])
        for old in step.before:
            del table[old["id"]]
        for new in step.after:
            table[new["id"]] = new
        log.append(step)
    return log, table


def row(choose: random.Random, number: int) -> dict[str, Any]:
    weight = f"{choose.randint(-9999, 9999) / 100:.2f}"
    name = choose.choice(["scooter", "Räder", "null", ""])
    return {"id": number, "name": name, "weight": weight, "active": choose.choice([True, False])}


def debezium(step: Step, wrapped: bool) -> list[Sent]:
    """Return a record for each row; a row that moves is a delete and a create, as Debezium sends it."""
    sent: list[Sent] = []
    pairs: list[tuple[Any, Any]] = [(old, None) for old in step.before] + [(None, new) for new in step.after]
    if step.before and step.after and step.before[0]["id"] == step.after[0]["id"]:
        pairs = [*zip(step.before, step.after, strict=True)]
    for old, new in pairs:
        op = "u" if old and new else "d" if old else "c"
        envelope = {"before": old, "after": new, "source": SOURCE, "op": op, "ts_ms": 1}
        key = {"id": (new or old or {})["id"]}
        sent.append(Sent(connect(envelope, wrapped), connect(key, wrapped)))
        if op == "d":
            sent.append(Sent(None, connect(key, wrapped)))
    return sent


def connect(payload: Any, wrapped: bool) -> bytes:
    return json.dumps({"schema": {"type": "struct"}, "payload": payload} if wrapped else payload).encode()


def canal(step: Step) -> Sent:
    """Return the message of one statement; every value is a text, and `old` has only what has changed."""
    data = [text(each) for each in step.after or step.before]
    old = None
    if step.before and step.after:
        pairs = zip(map(text, step.before), data, strict=True)
        old = [{k: v for k, v in before.items() if v != after[k]} for before, after in pairs]
    kind = "INSERT" if not step.before else "UPDATE" if step.after else "DELETE"
    message = {"data": data, "database": "inventory", "isDdl": False, "old": old, "pkNames": ["id"]}
    return Sent(json.dumps(message | {"table": "products", "type": kind}).encode())


def text(row: dict[str, Any]) -> dict[str, str]:
    return {k: str(int(v) if isinstance(v, bool) else v) for k, v in row.items()}


def job(lab: Lab, record_format: str, records: list[Sent], **source: Any) -> Config:
    return lab.config(
        lab.topic(*records),
        lab.table("d"),
        source={"format": record_format, "schema": SCHEMA, **source},
        sink={"columns": {"d": ["name", "weight", "active"]}},
        checkpointing={"interval": "0s"},
    )


def assert_mirrors(lab: Lab, config: Config, table: Table) -> None:
    found = {each.id: each for each in lab.rows(config, SCHEMA)}
    assert found.keys() == table.keys()
    for number, expected in table.items():
        assert str(found[number].weight) == expected["weight"]
        assert (found[number].name, found[number].active) == (expected["name"], expected["active"])
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0


@pytest.mark.parametrize("wrapped", [False, True])
def test_debeziums_log_becomes_the_databases_table(lab: Lab, wrapped: bool) -> None:
    steps, table = history(seed=7, steps=60)
    records = [record for step in steps for record in debezium(step, wrapped)]
    noise = [
        Sent(connect({"ts_ms": 1}, wrapped)),
        Sent(connect({"ts_ms": 1, "ddl": "ALTER TABLE products"}, wrapped)),
    ]
    config = job(
        lab, "debezium-json", [*records[:9], *noise, *records[9:]], **{"max-offsets-per-trigger": 40}
    )
    assert lab.finish(config).rejected == {"NO_CHANGE": 2}
    assert_mirrors(lab, config, table)


def test_canals_log_becomes_the_databases_table(lab: Lab) -> None:
    steps, table = history(seed=8, steps=80)
    records = [canal(step) for step in steps]
    ddl = Sent(json.dumps({"data": None, "isDdl": True, "sql": "ALTER TABLE", "type": "ALTER"}).encode())
    config = job(lab, "canal-json", [*records, ddl], **{"max-offsets-per-trigger": 30})
    progress = lab.finish(config)
    assert progress.rejected == {"NO_CHANGE": 1}
    assert progress.totals["puts"] + progress.totals["deletes"] > len(steps), "no statement had several rows"
    assert_mirrors(lab, config, table)


def test_behind_a_transformation_deletes_work_and_the_old_key_of_a_moved_row_stays(lab: Lab) -> None:
    first, second = ({"id": n, "name": "a", "weight": "1.00", "active": True} for n in (1, 2))
    steps = [Step([], [first, second]), Step([second], []), Step([first], [first | {"id": 3}])]
    config = lab.config(
        lab.topic(*(canal(step) for step in steps)),
        lab.table("d"),
        source={"format": "canal-json", "schema": SCHEMA},
        sink={"row-key": ["key"], "columns": {"d": ["name"]}},
        sql="SELECT concat('p', id) AS key, name FROM source",
    )
    lab.finish(config)
    assert sorted(each.key for each in lab.rows(config, "key STRING, name STRING")) == ["p1", "p3"]


def test_what_cannot_be_applied_is_a_dead_letter_with_its_reason(lab: Lab) -> None:
    bad = {
        "UNKNOWN_OP": {"op": "t", "before": None, "after": None},
        "WRONG_SCHEMA": {"op": "d", "before": None, "after": None},
        "NULL_DOCUMENT": None,
    }
    good = {"op": "c", "before": None, "after": {"id": 1, "name": "a"}}
    dead = lab.topic(prefix="dead")
    records = [Sent(json.dumps(each).encode()) for each in [*bad.values(), good]]
    config = job(lab, "debezium-json", records, **{"bad-records": {"dead-letter": dead}})
    assert lab.finish(config).rejected == dict.fromkeys(bad, 1)
    letters = {letter.reason: letter for letter in lab.letters(dead)}
    assert {reason: letter.value for reason, letter in letters.items()} == {
        reason: json.dumps(each).encode() for reason, each in bad.items()
    }
    assert "REPLICA IDENTITY FULL" in letters["WRONG_SCHEMA"].detail
    assert [each.id for each in lab.rows(config, SCHEMA)] == [1]


def spoilt(choose: random.Random, value: Any) -> Any:
    """Return a parsed document with something in it missing, doubled, of another type or of another kind."""
    if isinstance(value, dict) and value and choose.random() < 0.8:
        name = choose.choice(list(value))
        change = choose.choice(["drop", "spoil", "spoil", "spoil", "rename"])
        if change == "spoil":
            return {**value, name: spoilt(choose, value[name])}
        rest = {key: each for key, each in value.items() if key != name}
        return rest if change == "drop" else {**rest, name.upper(): value[name]}
    if isinstance(value, list) and value and choose.random() < 0.7:
        return [*value[:-1], spoilt(choose, value[-1])] if choose.random() < 0.7 else value + value
    return choose.choice(SPOILS)


SPOILS = [
    None,
    "",
    "1",
    "-7.5",
    "1e400",
    "x",
    0,
    1,
    2**40,
    -1.25,
    True,
    False,
    [],
    [None],
    {},
    {"id": 1},
    "u",
    "UPDATE",
]


@pytest.mark.parametrize("record_format", ["debezium-json", "canal-json"])
def test_engine_and_checker_agree_on_every_spoilt_envelope(lab: Lab, record_format: str) -> None:
    choose = random.Random(record_format)
    steps, _ = history(seed=9, steps=60)
    if record_format == "canal-json":
        good = [canal(step) for step in steps]
    else:
        good = [each for step in steps for each in debezium(step, wrapped=choose.random() < 0.5)]
    bad = [
        Sent(json.dumps(spoilt(choose, json.loads(each.value))).encode(), each.key)
        for each in [*good, *good]
        if each.value is not None
    ]
    records = [each for pair in zip(good, bad, strict=False) for each in pair] + bad
    config = job(lab, record_format, records, **{"bad-records": "skip"})
    counted = dict(lab.finish(config).rejected)
    counted.pop("NO_CHANGE", None)
    log = [Record("t", 0, at, 0, each.key, each.value) for at, each in enumerate(records)]
    assert counted == expect(mapping_of(config), log).rejected
    assert counted["WRONG_SCHEMA"] > 10
    report = verify_pipeline(config, lab.spark)
    assert report.is_verified, report.lines()
    assert report.not_yet_read == 0


def test_a_truncate_stops_a_job_that_may_not_lose(lab: Lab) -> None:
    truncate = Sent(json.dumps({"type": "TRUNCATE", "isDdl": True, "data": None}).encode())
    run = lab.run_bounded(job(lab, "canal-json", [truncate]))
    assert run.status is JobStatus.FAILED
    assert "UNKNOWN_OP" in str(run.error)
    assert "empties the table" in str(run.error)
