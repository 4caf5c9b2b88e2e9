"""Looks up single records in the log of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from milepost.config import Config
from milepost.source.librdkafka import client_properties
from milepost.verify.log import Span, read, take_spans
from milepost.verify.oracle import Record

RecordPosition = tuple[str, int, int]
"""Topic, partition, offset."""


class Records:
    """The log of all sources, up to the ends at construction."""

    def __init__(self, config: Config) -> None:
        """Query each broker for the ends of its topics."""
        self._clients: dict[str, Mapping[str, str]] = {}
        self._spans: dict[tuple[str, int], Span] = {}
        for source in config.views.values():
            client = client_properties(source.client_properties)
            topics = [f"^{source.topic_pattern}"] if source.topic_pattern else list(source.topics or ())
            for span in take_spans(client, topics):
                self._clients[span.topic] = client
                self._spans[span.topic, span.partition] = span

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end of every partition."""
        return {place: span.end for place, span in self._spans.items()}

    def at(self, spots: Iterable[RecordPosition]) -> dict[RecordPosition, Record]:
        """Return the records at these positions; deleted records and transaction markers are missing."""
        found: dict[RecordPosition, Record] = {}
        waiting = [spot for spot in sorted(set(spots)) if self._has(spot)]
        while waiting:
            # One position of each partition at a time.
            now = {(topic, partition): offset for topic, partition, offset in reversed(waiting)}
            for client in {id(each): each for each in self._clients.values()}.values():
                spans = [
                    Span(topic=topic, partition=partition, begin=offset, end=offset + 1)
                    for (topic, partition), offset in now.items()
                    if self._clients[topic] is client
                ]
                for record in read(client, spans):
                    found[record.topic, record.partition, record.offset] = record
            waiting = [spot for spot in waiting if now[spot[0], spot[1]] != spot[2]]
        return found

    def _has(self, spot: RecordPosition) -> bool:
        span = self._spans.get((spot[0], spot[1]))
        return span is not None and span.begin <= spot[2] < span.end
