"""The Kafka sink's part in every checkpoint: its transactions are committed once the checkpoint is complete.

Two phases, as in Flink. Writers flush their transactions and leave them open (step 5). In step 6 they are compared with
what the broker says and become part of the sealed checkpoint, so that whoever resumes from it can commit them. They are
committed after step 8, or at the next start where a death came between; those of a checkpoint that never completed
are aborted there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

from milepost.checkpoint.model import Value
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.checkpoint.store.layout import SINK
from milepost.checkpoint.store.store import Store
from milepost.errors import FatalJobError, JobFailedError

_LOST = "LOST "

Transaction = dict[str, Any]


class Broker(Protocol):
    """What the engine does with transactions; each answers None, or the sentence that says what is wrong."""

    def fault(self, transactions: str) -> str | None:
        """Compare them with what the broker says."""

    def commit(self, transactions: str) -> str | None:
        """Commit them; again is fine."""

    def abortAll(self) -> str | None:
        """Abort whatever is open under the job's ids."""

    def close(self) -> None:
        """Let the connection go."""


class KafkaTransactions:
    """Commits what is complete, aborts what is not."""

    def __init__(self, broker: Broker, acknowledged: Callable[[], str], store: Store) -> None:
        """Take the engine's broker, and what tells the acknowledgements of the checkpoint that is being sealed."""
        self._broker = broker
        self._acknowledged = acknowledged
        self._store = store
        self._sealed: dict[int, list[Transaction]] = {}

    def initialize_state(self, context: InitializationContext) -> None:
        """Commit what belongs to the checkpoint and may not be committed yet; abort everything else."""
        self._sealed.clear()
        if isinstance(context.state, dict) and context.checkpoint_id is not None:
            transactions = context.state["transactions"]
            if self._committed() != (context.checkpoint_id, transactions):
                self._commit(context.checkpoint_id, transactions)
        if fault := self._broker.abortAll():
            raise JobFailedError(
                "The Kafka sink cannot begin",
                why=f"{fault}; readers would wait for what an earlier attempt has left",
                fix="Check that the brokers of sink.kafka answer, and that this user may describe and write its "
                "transactional ids",
            )

    def snapshot_state(self, context: SnapshotContext) -> Value | None:
        """Return the open transactions, or decline where the broker knows them otherwise: it is not too late yet."""
        found = [ack["transaction"] for ack in json.loads(self._acknowledged()) if "transaction" in ack]
        if not found:
            return None
        if fault := self._broker.fault(json.dumps(found)):
            raise JobFailedError(
                f"Checkpoint {context.checkpoint_id} was declined by the Kafka sink: {fault}",
                why="its records could not be committed any more; nothing is lost, they will be written again",
                fix="Raise sink.kafka.transaction-timeout where checkpoints take long, and see that no other job has "
                "the same sink.kafka.transactional-id-prefix",
            )
        self._sealed[context.checkpoint_id] = found
        return {"transactions": found}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commit: from here on readers see the records."""
        if transactions := self._sealed.pop(checkpoint_id, None):
            self._commit(checkpoint_id, transactions)

    def close(self) -> None:
        """Let the connection go."""
        self._broker.close()

    def _commit(self, checkpoint_id: int, transactions: list[Transaction]) -> None:
        fault = self._broker.commit(json.dumps(transactions))
        if fault is None:
            # A broker forgets its transactions after days: what is written down here need not be asked then.
            done = {"format": 1, "checkpoint": checkpoint_id, "transactions": transactions}
            self._store.replace(SINK, json.dumps(done).encode() + b"\n")
        elif fault.startswith(_LOST):
            raise FatalJobError(
                f"Records of checkpoint {checkpoint_id} are lost: {fault.removeprefix(_LOST)}",
                why="the broker aborted the transaction before the job was back to commit it, and the checkpoint "
                "has already moved on",
                fix="To write them again, start with --fresh and source.kafka.start at the offsets of the checkpoint "
                "before (milepost/checkpoints has them), and raise sink.kafka.transaction-timeout",
            )
        else:
            raise JobFailedError(
                f"Checkpoint {checkpoint_id} is complete, and its records cannot be shown to readers yet: {fault}",
                why="the job commits them when it starts again, within sink.kafka.transaction-timeout",
                fix="Check that the brokers of sink.kafka answer",
            )

    def _committed(self) -> tuple[int, list[Transaction]] | None:
        """Return what was committed last, as it was written down."""
        try:
            document = json.loads(self._store.read(SINK))
            return document["checkpoint"], document["transactions"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None  # asking the broker once more is never wrong
