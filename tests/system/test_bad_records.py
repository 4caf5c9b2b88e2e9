"""Bad records (B1, B3, B4, B6, B8 to B12, B15, B16) in one log under each policy: nothing lost, nothing uncounted."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.system.lab import Lab, Letter, Run, Sent, no_trace, visible

from milepost.checkpoint.store.spark_log import newest_completed
from milepost.checkpoint.store.store import LocalStore
from milepost.config import Config
from milepost.errors import PreflightError
from milepost.job.monitoring.progress import Progress
from milepost.job.status import JobStatus
from milepost.verify.compare import RawCell

SCHEMA = "id STRING NOT NULL, n INT, amount DOUBLE, price DECIMAL(6,2), at TIMESTAMP, name STRING, op STRING"
PARTITIONS = 2


class Case(NamedTuple):
    """One bad record and what must become of it."""

    number: str
    value: bytes | None
    reason: str
    detail: str
    key: bytes | None = b"k"


def document(**fields: Any) -> bytes:
    return json.dumps({"id": "bad", "op": "upsert", "name": "x"} | fields).encode()


def text(body: str) -> bytes:
    return ('{"id": "bad", "op": "upsert", ' + body + "}").encode()


BAD = {
    "neither key nor value": Case("B3", None, "BAD_ROW_KEY", "neither key nor value", key=None),
    "an empty value": Case("B4", b"", "EMPTY_VALUE", "no bytes"),
    "the document null": Case("B4", b"null", "NULL_DOCUMENT", "literal null"),
    "the text null": Case("B4", b'"null"', "WRONG_SCHEMA", "found a string"),
    "a truncated document": Case("B8", b'{"id": "bad", "op"', "MALFORMED", "not JSON"),
    "a name without quotes": Case("B8", b'{id: "bad"}', "MALFORMED", "not JSON"),
    "a byte order mark": Case("B8", b"\xef\xbb\xbf" + document(), "MALFORMED", "byte order mark"),
    "NaN": Case("B8", text('"amount": NaN'), "MALFORMED", "not JSON"),
    "Infinity": Case("B8", text('"amount": -Infinity'), "MALFORMED", "not JSON"),
    "a key twice": Case("B8", text('"n": 1, "n": 2'), "MALFORMED", "`n` occurs twice"),
    "10k levels": Case("B8", text('"x": ' + "[" * 10_000 + "]" * 10_000), "MALFORMED", "not JSON"),
    "10k levels of a declared column": Case("B8", text('"n": ' + '{"a":' * 10_000), "MALFORMED", "not JSON"),
    "1e400": Case("B8", text('"amount": 1e400'), "WRONG_SCHEMA", "`amount` is declared DOUBLE"),
    "two documents": Case("B8", document() + document(), "MALFORMED", "more after the end"),
    "a value that is no UTF-8": Case("B9", b'{"id": "\xff\xfe"}', "MALFORMED", "not UTF-8 at byte 8"),
    "a tombstone's key that is no UTF-8": Case("B9", None, "BAD_ROW_KEY", "not valid UTF-8", key=b"\xc3\x28"),
    "an array": Case("B10", b"[1, 2]", "WRONG_SCHEMA", "found an array"),
    "a number": Case("B10", b"42", "WRONG_SCHEMA", "found an integer"),
    "a string": Case("B10", b'"bad"', "WRONG_SCHEMA", "found a string"),
    "a boolean": Case("B10", b"true", "WRONG_SCHEMA", "found a boolean"),
    "a missing field": Case("B11", b'{"op": "upsert"}', "WRONG_SCHEMA", "`id`"),
    "a null that is required": Case("B11", document(id=None), "WRONG_SCHEMA", "`id`"),
    "another type": Case("B11", document(n="5"), "WRONG_SCHEMA", "`n` is declared INT, found a string"),
    "a fraction": Case("B11", document(n=1.5), "WRONG_SCHEMA", "`n` is declared INT"),
    "an overflow": Case("B11", document(n=3_000_000_000), "WRONG_SCHEMA", "out of range"),
    "too many digits": Case("B11", text('"price": 123456.789'), "WRONG_SCHEMA", "`price`"),
    "the year 10000": Case("B11", document(at="10000-01-01T00:00:00Z"), "WRONG_SCHEMA", "`at`"),
    "an unknown operation": Case("B12", document(op="x"), "UNKNOWN_OP", "'x' is unknown"),
    "no operation": Case("B12", b'{"id": "bad", "name": "x"}', "UNKNOWN_OP", "is null"),
    "the wrong case": Case("B12", document(op="Delete"), "UNKNOWN_OP", "'Delete' is unknown"),
    "an empty row key": Case("B15", document(id=""), "BAD_ROW_KEY", "is empty"),
    "a row key too long": Case("B16", document(id="k" * 32_768), "BAD_ROW_KEY", "32768 bytes"),
}
LONGEST = "k" * 32_767
GOOD = [
    Sent(document(id="tombstoned"), b"tombstoned"),
    Sent(None, b"tombstoned"),
    Sent(document(id="no-op", name=None), b"no-op"),
    Sent(document(id="old", op="UPDATE_BEFORE"), b"old"),
    Sent(document(id="extra", more={"deep": [1]}), b"extra"),
    Sent(document(id=LONGEST), b"long"),
    Sent(document(id="no-such-row", op="delete"), b"no-such-row"),
    # Only a tombstone's key is looked at.
    Sent(document(id="odd-key"), b"\xff"),
]


def log() -> list[Sent]:
    """Return each bad record with a good one before and behind it, over both partitions."""
    records = [each._replace(partition=0) for each in GOOD]
    for at, case in enumerate(BAD.values()):
        partition = at % PARTITIONS
        records.append(Sent(document(id=f"before-{at}"), b"b", partition))
        records.append(Sent(case.value, case.key, partition))
        records.append(Sent(document(id=f"behind-{at}"), b"b", partition))
    return records


def origins(records: list[Sent]) -> list[tuple[int, int]]:
    """Return partition and offset of each record."""
    counts: Counter[int] = Counter()
    places = []
    for record in records:
        places.append((record.partition, counts[record.partition]))
        counts[record.partition] += 1
    return places


class Outcome(NamedTuple):
    """What is left after the log went through a job."""

    topic: str
    progress: Progress
    letters: dict[tuple[int, int], list[Letter]]
    cells: list[RawCell]


@pytest.fixture(scope="module")
def topic(lab: Lab) -> str:
    return lab.topic(*log(), partitions=PARTITIONS, prefix="bad")


def job(lab: Lab, topic: str, policy: Any, **changes: Any) -> Config:
    return lab.config(
        topic,
        lab.table("d"),
        source={"format": "json", "schema": SCHEMA, "bad-records": policy} | changes,
        sink={"columns": {"d": ["name"]}, "op": "op"},
    )


@pytest.fixture(scope="module")
def outcome(lab: Lab, topic: str) -> Outcome:
    dead = lab.topic(prefix="dead")
    config = job(lab, topic, {"dead-letter": dead})
    progress = lab.finish(config)
    letters: dict[tuple[int, int], list[Letter]] = {}
    for letter in lab.letters(dead):
        assert letter.origin[0] == topic
        letters.setdefault(letter.origin[1:], []).append(letter)
    return Outcome(topic, progress, letters, lab.cells(config))


def place(kind: str) -> tuple[int, int]:
    records = log()
    at = records.index(Sent(BAD[kind].value, BAD[kind].key, list(BAD).index(kind) % PARTITIONS))
    return origins(records)[at]


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_record_is_one_dead_letter(outcome: Outcome, kind: str) -> None:
    case = BAD[kind]
    (letter,) = outcome.letters[place(kind)]
    assert (letter.key, letter.value) == (case.key, case.value)
    assert letter.reason == case.reason
    assert case.detail in letter.detail
    assert len(letter.detail) < 400
    assert no_trace(letter.detail)
    assert "Exception" not in letter.detail


def test_no_bad_record_is_in_the_table_and_every_good_one_is(outcome: Outcome) -> None:
    around = {f"{side}-{at}" for at in range(len(BAD)) for side in ("before", "behind")}
    kept = {"extra", "odd-key", LONGEST}
    assert set(visible(outcome.cells)) == {key.encode() for key in around | kept}


def test_a_tombstone_deletes_with_its_own_version(outcome: Outcome) -> None:
    markers = [cell for cell in outcome.cells if cell[0] == b"tombstoned" and cell[4] != "Put"]
    assert [(cell[3], cell[4]) for cell in markers] == [(1, "DeleteFamily")]
    assert b"tombstoned" not in visible(outcome.cells)


def test_every_record_is_accounted_for(outcome: Outcome) -> None:
    records, totals, progress = log(), outcome.progress.totals, outcome.progress
    assert (totals["noops"], totals["ignored"], totals["deletes"]) == (1, 1, 2)
    applied = totals["puts"] + totals["deletes"] + totals["noops"] + totals["ignored"]
    assert applied + progress.rejected_count == len(records)
    assert totals["puts"] == len(records) - 4 - len(BAD)
    assert progress.rejected == Counter(case.reason for case in BAD.values())


@pytest.mark.parametrize("partition", range(PARTITIONS))
def test_each_partition_is_read_to_its_end_once(outcome: Outcome, partition: int) -> None:
    count = sum(record.partition == partition for record in log())
    assert outcome.progress.position[outcome.topic][partition] == count
    bad = [each for at, each in enumerate(BAD) if at % PARTITIONS == partition]
    assert sorted(key for key in outcome.letters if key[0] == partition) == sorted(map(place, bad))


def test_skip_counts_the_same_and_writes_nothing_else(lab: Lab, topic: str, outcome: Outcome) -> None:
    config = job(lab, topic, "skip")
    progress = lab.finish(config)
    assert progress.rejected == outcome.progress.rejected
    assert progress.totals["rows"] == outcome.progress.totals["rows"]
    assert sorted(lab.cells(config)) == sorted(outcome.cells)


MENDABLE = [
    Sent(document(id="a"), b"a"),
    Sent(document(id="b"), b"b"),
    Sent(document(id="c"), b"c"),
    Sent(b'{"id": "d"', b"d"),
    Sent(document(id="e"), b"e"),
]


@pytest.fixture(scope="module")
def failed(lab: Lab) -> tuple[Config, Run]:
    config = job(lab, lab.topic(*MENDABLE), "fail", **{"max-offsets-per-trigger": 2})
    return config, lab.run_bounded(config)


def test_fail_stops_with_a_sentence_that_names_the_record(failed: tuple[Config, Run]) -> None:
    config, run = failed
    (topic,) = config.views["source"].topics or ()
    assert run.status is JobStatus.FAILED
    assert run.error is not None
    assert f"MALFORMED at {topic}-0@3" in run.error.what
    assert "bad-records" in run.error.fix
    assert no_trace(str(run.error))
    assert "\n" not in str(run.error)


def test_fail_does_not_commit_past_the_record(failed: tuple[Config, Run]) -> None:
    config, run = failed
    (topic,) = config.views["source"].topics or ()
    completed = newest_completed(LocalStore(Path(config.checkpointing.dir)))
    assert completed is not None
    assert completed.sources[0] == {topic: {0: 2}}
    assert run.progress.checkpoint_id == completed.batch_id


def test_after_fail_another_policy_resumes_without_loss(lab: Lab, failed: tuple[Config, Run]) -> None:
    config, _ = failed
    (topic,) = config.views["source"].topics or ()
    changed = lab.config(
        topic,
        config.sink.hbase.table,
        source={"format": "json", "schema": SCHEMA, "bad-records": "skip"},
        sink={"columns": {"d": ["name"]}, "op": "op"},
        checkpointing={"dir": config.checkpointing.dir},
    )
    progress = lab.finish(changed)
    assert progress.rejected == {"MALFORMED": 1}
    assert progress.rows == 2  # c and e: what was completed before is not read again
    assert [(cell[0], cell[3], cell[4]) for cell in sorted(lab.cells(changed))] == [
        (b"a", 0, "Put"),
        (b"b", 1, "Put"),
        (b"c", 2, "Put"),
        (b"e", 4, "Put"),
    ]


def test_a_sink_side_rejection_fails_with_its_coordinates_too(lab: Lab) -> None:
    topic = lab.topic(Sent(document(id="a")), Sent(document(op="x")))
    run = lab.run_bounded(job(lab, topic, "fail"))
    assert run.status is JobStatus.FAILED
    assert f"UNKNOWN_OP at {topic}-0@1: the operation 'x' is unknown" in str(run.error)
    assert no_trace(str(run.error))


def test_a_dead_letter_topic_that_is_not_there_refuses_the_start(lab: Lab, topic: str) -> None:
    with pytest.raises(PreflightError, match=r"no-such-letters.*does not exist") as raised:
        lab.start(job(lab, topic, {"dead-letter": "no-such-letters"}))
    assert raised.value.exit_code == 2
