from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from milepost.checkpoint.model import CheckpointId
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.checkpoint.store.store import Store
from milepost.errors import FatalJobError, JobFailedError
from milepost.sink.transactions import KafkaTransactions

ONE = {"id": "job-1-0", "producer-id": 7, "epoch": 2}
ACKS = [{"partition": 0, "rows": 3, "transaction": ONE}, {"partition": 1, "rows": 0}]


class Broker:
    """Takes down what is asked, and answers what the test wants."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.faults: dict[str, str] = {}

    def fault(self, transactions: str) -> str | None:
        return self._answer("fault", json.loads(transactions))

    def commit(self, transactions: str) -> str | None:
        return self._answer("commit", json.loads(transactions))

    def abortAll(self) -> str | None:
        return self._answer("abort")

    def close(self) -> None:
        self.asked.append("close")

    def _answer(self, *call: Any) -> str | None:
        self.asked.append(call)
        return self.faults.get(call[0])


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def sink(broker: Broker, tmp_path: Path) -> KafkaTransactions:
    return KafkaTransactions(broker, lambda: json.dumps(ACKS), Store.at(str(tmp_path)))


def context(checkpoint_id: int) -> SnapshotContext:
    return SnapshotContext("sink.kafka", CheckpointId(checkpoint_id), datetime.now(timezone.utc))


def restored(checkpoint_id: int, *transactions: dict[str, Any]) -> InitializationContext:
    state = {"transactions": list(transactions)}
    return InitializationContext(checkpoint_id=CheckpointId(checkpoint_id), state=state)


def test_a_transaction_is_looked_at_when_sealed_and_committed_when_complete(
    sink: KafkaTransactions, broker: Broker
):
    sink.initialize_state(InitializationContext())
    assert sink.snapshot_state(context(3)) == {"transactions": [ONE]}
    sink.notify_checkpoint_complete(3)
    sink.close()
    assert broker.asked == [("abort",), ("fault", [ONE]), ("commit", [ONE]), "close"]


def test_writers_without_rows_leave_nothing_to_remember(broker: Broker, tmp_path: Path):
    sink = KafkaTransactions(broker, lambda: json.dumps(ACKS[1:]), Store.at(str(tmp_path)))
    assert sink.snapshot_state(context(3)) is None
    sink.notify_checkpoint_complete(3)
    assert broker.asked == []


def test_what_the_broker_knows_otherwise_is_declined_before_it_is_too_late(
    sink: KafkaTransactions, broker: Broker
):
    broker.faults["fault"] = "transaction job-1-0 is COMPLETE_ABORT"
    with pytest.raises(JobFailedError, match="declined by the Kafka sink: transaction job-1-0") as raised:
        sink.snapshot_state(context(3))
    assert raised.value.retryable


def test_a_start_commits_what_its_checkpoint_holds_and_aborts_the_rest(
    sink: KafkaTransactions, broker: Broker
):
    sink.initialize_state(restored(3, ONE))
    assert broker.asked == [("commit", [ONE]), ("abort",)]


def test_what_is_written_down_as_committed_is_not_asked_again(sink: KafkaTransactions, broker: Broker):
    sink.initialize_state(restored(3, ONE))
    broker.asked.clear()
    sink.initialize_state(restored(3, ONE))
    assert broker.asked == [("abort",)]
    sink.initialize_state(restored(3, ONE | {"epoch": 9}))
    assert ("commit", [ONE | {"epoch": 9}]) in broker.asked, "checkpoint 3 of another run"


def test_a_lost_transaction_ends_the_job_and_says_what_to_do(sink: KafkaTransactions, broker: Broker):
    broker.faults["commit"] = "LOST transaction job-1-0 cannot be committed any more: fenced"
    with pytest.raises(FatalJobError, match="Records of checkpoint 3 are lost: transaction") as raised:
        sink.initialize_state(restored(3, ONE))
    assert "--fresh" in raised.value.fix
    assert ("abort",) not in broker.asked


def test_a_broker_that_does_not_answer_is_asked_again_by_the_next_attempt(
    sink: KafkaTransactions, broker: Broker
):
    sink.initialize_state(InitializationContext())
    sink.snapshot_state(context(3))
    broker.faults["commit"] = "transaction job-1-0 could not be committed: TimeoutException"
    with pytest.raises(JobFailedError, match="cannot be committed yet") as raised:
        sink.notify_checkpoint_complete(3)
    assert raised.value.retryable
    broker.faults.clear()
    sink.initialize_state(restored(3, ONE))
    assert broker.asked[-2:] == [("commit", [ONE]), ("abort",)]


def test_transactions_that_cannot_be_aborted_keep_the_job_from_starting(
    sink: KafkaTransactions, broker: Broker
):
    broker.faults["abort"] = "the open transactions could not be listed: AuthorizationException"
    with pytest.raises(JobFailedError, match="cannot start"):
        sink.initialize_state(InitializationContext())
