"""The participant of the Kafka sink: it commits the transactions of a checkpoint once it is complete.

A two-phase commit, as in Flink. Writers flush their transactions and leave them open (step 5). In step 6 they are
compared with the state on the broker and become part of the sealed checkpoint, so that a start from it can commit
them. They are committed after step 8, or at the next start after a crash; transactions of checkpoints that never
completed are aborted there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from milepost.checkpoint.model import Value
from milepost.checkpoint.participants.participant import InitializationContext, SnapshotContext
from milepost.checkpoint.store.layout import SINK
from milepost.checkpoint.store.store import Store
from milepost.errors import FatalJobError, JobFailedError

_LOST = "LOST "
"""Prefix of the message of the engine for a transaction that the broker aborted."""

Transaction = dict[str, Any]


class Broker(Protocol):
    """The operations of the engine on transactions; each returns None, or a message if it failed."""

    def fault(self, transactions: str) -> str | None:
        """Compare the transactions with their state on the broker."""

    def commit(self, transactions: str) -> str | None:
        """Commit the transactions; idempotent."""

    def abortAll(self) -> str | None:
        """Abort all open transactions of the job."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class CommitFault:
    """Why transactions could not be committed."""

    message: str
    is_lost: bool
    """Whether the broker has aborted one of them, so that no retry can succeed."""


def parse_fault(answer: str | None) -> CommitFault | None:
    """Return the fault in an answer of the engine; None if the commit succeeded."""
    if answer is None:
        return None
    return CommitFault(answer.removeprefix(_LOST), is_lost=answer.startswith(_LOST))


class KafkaTransactions:
    """Commits transactions of completed checkpoints, and aborts all others."""

    def __init__(self, broker: Broker, acknowledged: Callable[[], str], store: Store) -> None:
        """Take the broker, and a function that returns the acknowledgements of the checkpoint being sealed."""
        self._broker = broker
        self._acknowledged = acknowledged
        self._store = store
        self._sealed: dict[int, list[Transaction]] = {}

    def initialize_state(self, context: InitializationContext) -> None:
        """Commit the transactions of the checkpoint if they may not be committed yet; abort all others."""
        self._sealed.clear()
        if isinstance(context.state, dict) and context.checkpoint_id is not None:
            transactions = context.state["transactions"]
            if self._committed() != (context.checkpoint_id, transactions):
                self._commit(context.checkpoint_id, transactions)
        if fault := self._broker.abortAll():
            raise JobFailedError(
                "The Kafka sink cannot start",
                why=f"{fault}; open transactions of an earlier attempt would block consumers",
                fix="Check that the brokers of sink.kafka answer, and that this user is allowed to describe and write "
                "its transactional ids",
            )

    def snapshot_state(self, context: SnapshotContext) -> Value | None:
        """Return the open transactions; decline the checkpoint if their state on the broker differs."""
        found = [ack["transaction"] for ack in json.loads(self._acknowledged()) if "transaction" in ack]
        if not found:
            return None
        if fault := self._broker.fault(json.dumps(found)):
            raise JobFailedError(
                f"Checkpoint {context.checkpoint_id} was declined by the Kafka sink: {fault}",
                why="its records could not be committed later; nothing is lost, because they are written again",
                fix="Raise sink.kafka.transaction-timeout if checkpoints take long, and make sure that no other job "
                "uses the same sink.kafka.transactional-id-prefix",
            )
        self._sealed[context.checkpoint_id] = found
        return {"transactions": found}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commit the transactions, which makes the records visible to consumers."""
        if transactions := self._sealed.pop(checkpoint_id, None):
            self._commit(checkpoint_id, transactions)

    def close(self) -> None:
        """Close the connection."""
        self._broker.close()

    def _commit(self, checkpoint_id: int, transactions: list[Transaction]) -> None:
        fault = parse_fault(self._broker.commit(json.dumps(transactions)))
        if fault is None:
            # Brokers expire transactional ids after days; with this record the broker need not be asked.
            done = {"format": 1, "checkpoint": checkpoint_id, "transactions": transactions}
            self._store.replace(SINK, json.dumps(done).encode() + b"\n")
        elif fault.is_lost:
            raise FatalJobError(
                f"Records of checkpoint {checkpoint_id} are lost: {fault.message}",
                why="the broker aborted the transaction before the job could commit it, but the checkpoint is already "
                "complete",
                fix="To write them again, start with --fresh and set source.kafka.start to the offsets of the previous "
                "checkpoint (in milepost/checkpoints), and raise sink.kafka.transaction-timeout",
            )
        else:
            raise JobFailedError(
                f"Checkpoint {checkpoint_id} is complete, but its records cannot be committed yet: {fault.message}",
                why="the job commits them at its next start, within sink.kafka.transaction-timeout",
                fix="Check that the brokers of sink.kafka answer",
            )

    def _committed(self) -> tuple[int, list[Transaction]] | None:
        """Return the last commit on record."""
        try:
            document = json.loads(self._store.read(SINK))
            return document["checkpoint"], document["transactions"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None  # committing again is harmless
