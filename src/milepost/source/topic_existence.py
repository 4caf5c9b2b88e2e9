"""Checks which topics of a source exist, quickly and without a JVM; the engine repeats the check."""

from __future__ import annotations

import re
from concurrent.futures import TimeoutError  # Python 3.10 has one of its own here
from typing import Any

from milepost.config import KafkaSource
from milepost.errors import PreflightError
from milepost.source.librdkafka import client_properties
from milepost.source.topic_facts import KafkaFacts, TopicFacts

TIMEOUT_S = 1.5
"""Longer than a reachable broker needs."""
# Patterns with the same meaning in Java and in Python.
_PLAIN_PATTERN = re.compile(r"[\w.\-*+?|(){},\[\]^$\\]*")


def existing_topics(source: KafkaSource, timeout: float = TIMEOUT_S) -> KafkaFacts | None:
    """Return which topics of the source exist; None if that cannot be determined for sure."""
    from confluent_kafka import KafkaException  # not needed by commands that only read files
    from confluent_kafka.admin import AdminClient

    try:
        client = client_properties(source.client_properties)
        # The engine reports every problem again; the library must not log to the output.
        admin = AdminClient({**client, "log_level": 2})
        if source.topic_pattern is not None:
            return _match_pattern(admin, source.topic_pattern, timeout)
        return _describe_topics(admin, list(source.topics or ()), timeout)
    except (PreflightError, KafkaException, TimeoutError, re.error):
        return None


def _match_pattern(admin: Any, pattern: str, timeout: float) -> KafkaFacts | None:
    if not _PLAIN_PATTERN.fullmatch(pattern):
        return None
    existing = _list_topics(admin, timeout)
    return _facts([name for name in existing if re.fullmatch(pattern, name)], existing)


def _describe_topics(admin: Any, topics: list[str], timeout: float) -> KafkaFacts | None:
    """Describe each topic by name: a listing omits topics that this client may not see. No topic is created."""
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    found = []
    for name, answer in admin.describe_topics(TopicCollection(topics), request_timeout=timeout).items():
        try:
            answer.result(timeout)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
        else:
            found.append(name)
    return _facts(found, frozenset(found) if len(found) == len(topics) else _list_topics(admin, timeout))


def _list_topics(admin: Any, timeout: float) -> frozenset[str]:
    names = admin.list_topics(timeout=timeout).topics
    return frozenset(name for name in names if not name.startswith("__"))


def _facts(names: list[str], existing: frozenset[str]) -> KafkaFacts:
    return KafkaFacts({name: TopicFacts("", {}) for name in names}, existing)
