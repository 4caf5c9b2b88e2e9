"""Reads and deletes the offsets of a consumer group."""

from __future__ import annotations

import threading
import time
from concurrent.futures import TimeoutError  # Python 3.10 has one of its own here
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from milepost.errors import NotReachableError

_TIMEOUT_S = 60.0
_POLL_S = 0.05


class Group:
    """One consumer group, through the admin client."""

    def __init__(self, bootstrap_servers: str, name: str) -> None:
        """Connect on first use; the group need not exist."""
        self.name = name
        # Kept in a field: the results of a client are lost when it is closed.
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2})

    def committed(self) -> dict[tuple[str, int], int]:
        """Return the committed offsets by topic and partition."""
        request = [ConsumerGroupTopicPartitions(self.name)]
        answer: Any = self._admin.list_consumer_group_offsets(request)[self.name]
        try:
            found = answer.result(timeout=_TIMEOUT_S).topic_partitions
        except (KafkaException, TimeoutError) as error:
            raise self._failure("read", error) from error
        return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def delete(self) -> None:
        """Delete the group with its offsets; retries, because the broker refuses while a commit is in flight."""
        deadline, pause = time.monotonic() + _TIMEOUT_S, threading.Event()
        while True:
            answer: Any = self._admin.delete_consumer_groups([self.name])[self.name]
            try:
                answer.result(timeout=_TIMEOUT_S)
                return
            except (KafkaException, TimeoutError) as error:
                if (
                    isinstance(error, KafkaException)
                    and error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND
                ):
                    return
                if time.monotonic() > deadline:
                    raise self._failure("deleted", error) from error
            pause.wait(_POLL_S)

    def _failure(self, done: str, error: Exception) -> NotReachableError:
        return NotReachableError(f"The offsets of group {self.name} cannot be {done}", why=str(error))
