"""The checks across the sources of a job with several sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations

from milepost.config.reading.faults import KeyFault
from milepost.config.source import DeadLetter, KafkaSource


def find_source_faults(sources: Mapping[str, KafkaSource]) -> Iterator[KeyFault]:
    """Yield the faults between sources, which are keyed by their path in the file."""
    paths = list(sources)
    for place, path in enumerate(paths):
        for earlier in paths[:place]:
            yield from _same_topic(path, sources[path], earlier, sources[earlier])
    if len({str(source.bad_records) for source in sources.values()}) > 1:
        message = (
            "must be the same in every source: a row that HBase rejects may come from any of them, "
            "and a single policy applies to it"
        )
        yield KeyFault((f"{paths[-1]}.bad-records", *(f"{path}.bad-records" for path in paths[:-1])), message)
    elif isinstance(sources[paths[0]].bad_records, DeadLetter):
        yield from _dead_letter_faults(sources)


def _same_topic(path: str, source: KafkaSource, earlier: str, other: KafkaSource) -> Iterator[KeyFault]:
    shared = [topic for topic in source.topics or () if other.reads(topic)]
    shared += [topic for topic in other.topics or () if source.reads(topic) and topic not in shared]
    if shared or (source.topic_pattern and source.topic_pattern == other.topic_pattern):
        name = f" {shared[0]!r}" if shared else ""
        message = (
            f"has a topic{name} that {earlier} also reads; a checkpoint has one offset per partition, "
            "so read the topic in one source and use its view twice"
        )
        key = "topics" if source.topics else "topic-pattern"
        yield KeyFault((f"{path}.{key}", f"{earlier}.topics", f"{earlier}.topic-pattern"), message)


def _dead_letter_faults(sources: Mapping[str, KafkaSource]) -> Iterator[KeyFault]:
    for (path, source), (other_path, other) in permutations(sources.items(), 2):
        dead = source.bad_records.dead_letter if isinstance(source.bad_records, DeadLetter) else ""
        if other.reads(dead):
            message = f"{dead!r} is read by {other_path}, so bad records would circulate for ever"
            yield KeyFault((f"{path}.bad-records.dead-letter", f"{other_path}.topics"), message)
            return
    (first_path, first), *others = sources.items()
    for path, source in others:
        if dict(source.client_properties) != dict(first.client_properties):
            message = (
                f"and properties must be the same as in {first_path} if bad records go to a dead-letter topic, "
                "because one Kafka client writes it for all sources"
            )
            yield KeyFault((f"{path}.bootstrap-servers", f"{path}.properties"), message)
            return
