"""Sends events to a topic, at full speed or at a steady rate while a job runs; none is lost or sent twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from milepost.demo.workload import Event
from milepost.errors import NotReachableError

_TIMEOUT_S = 60.0
_SLICE_S = 0.05


def create_topic(bootstrap_servers: str, topic: str, partitions: int) -> None:
    """Create the topic, and return when it exists."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2})
    answer = admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])
    try:
        answer[topic].result(timeout=_TIMEOUT_S)
    except KafkaException as error:
        raise NotReachableError(
            f"Topic {topic} cannot be created at {bootstrap_servers}", why=str(error)
        ) from error


class LiveProducer:
    """Sends the rest of a stream of events from a background thread."""

    def __init__(self, bootstrap_servers: str, topic: str, events: Iterator[Event]) -> None:
        """Connect on first use; nothing is sent before `send` or `start`."""
        self.sent = 0
        self.failure: Exception | None = None
        self._topic = topic
        self._events = events
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                # A retry inside the client must not append a record to the log twice.
                "enable.idempotence": True,
                "linger.ms": 20,
                "compression.type": "lz4",
                "queue.buffering.max.messages": 500_000,
                # `is_done` raises errors; log lines would mix with the output of the demo.
                "log_level": 2,
            }
        )

    def send(self, count: int) -> None:
        """Send the next events at full speed, and return when the broker has received them all."""
        self._send(islice(self._events, count))
        self._flush()

    def start(self, rate: float) -> None:
        """Send the remaining events at about `rate` events per second, in the background."""
        self._thread = threading.Thread(target=self._run, args=(rate,), name="live-producer", daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Whether all events are in the log; raises an error of the background thread."""
        if self.failure is not None:
            raise self.failure
        return self._thread is not None and not self._thread.is_alive()

    def close(self) -> None:
        """Stop sending; the remaining events are not sent."""
        self._halt.set()
        if self._thread is not None:
            self._thread.join(timeout=_TIMEOUT_S)

    def _run(self, rate: float) -> None:
        try:
            began, before = time.monotonic(), self.sent
            while not self._halt.is_set():
                due = int((time.monotonic() - began) * rate) - (self.sent - before)
                if due > 0 and not self._send(islice(self._events, due)):
                    break
                self._halt.wait(_SLICE_S)
            self._flush()
        except Exception as error:  # raised by `is_done`, in the thread that can handle it
            self.failure = error

    def _send(self, events: Iterable[Event]) -> int:
        count = 0
        for event in events:
            self._produce(event)
            count += 1
        self.sent += count
        self._producer.poll(0)
        return count

    def _produce(self, event: Event) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    key=event.key,
                    value=event.value,
                    partition=event.partition,
                    on_delivery=self._delivered,
                )
                return
            except BufferError:
                self._producer.poll(0.1)

    def _flush(self) -> None:
        left = self._producer.flush(_TIMEOUT_S)
        if left or self.failure is not None:
            raise self.failure or NotReachableError(f"The broker did not accept {left} records")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failure = NotReachableError(f"A record for {message.topic()} was refused", why=str(error))
