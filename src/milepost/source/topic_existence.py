"""Asks a broker which topics of a source exist, without a JVM and in a moment; the engine asks everything again."""

from __future__ import annotations

import re
from concurrent.futures import TimeoutError  # Python 3.10 has one of its own here
from typing import Any

from milepost.config import KafkaSource
from milepost.errors import PreflightError
from milepost.source.librdkafka import client_properties
from milepost.source.topic_facts import KafkaFacts, TopicFacts

PATIENCE_S = 1.5
"""Longer than a broker in reach needs."""
# Where Java's patterns and Python's mean the same.
_PLAIN_PATTERN = re.compile(r"[\w.\-*+?|(){},\[\]^$\\]*")


def existing_topics(source: KafkaSource, patience: float = PATIENCE_S) -> KafkaFacts | None:
    """Return which of the source's topics exist; None where that cannot be known for sure in this way."""
    from confluent_kafka import KafkaException  # a command that only reads files needs none of it
    from confluent_kafka.admin import AdminClient

    try:
        client = client_properties(source.client_properties)
        # What goes wrong is found again by the engine; the lines of the library would fall into the output.
        admin = AdminClient({**client, "log_level": 2})
        if source.topic_pattern is not None:
            return _matching(admin, source.topic_pattern, patience)
        return _described(admin, list(source.topics or ()), patience)
    except (PreflightError, KafkaException, TimeoutError, re.error):
        return None


def _matching(admin: Any, pattern: str, patience: float) -> KafkaFacts | None:
    if not _PLAIN_PATTERN.fullmatch(pattern):
        return None
    existing = _listed(admin, patience)
    return _facts([name for name in existing if re.fullmatch(pattern, name)], existing)


def _described(admin: Any, topics: list[str], patience: float) -> KafkaFacts | None:
    """Ask for each topic by its name: a list leaves out what this client may not see. Nothing is created by this."""
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    found = []
    for name, answer in admin.describe_topics(TopicCollection(topics), request_timeout=patience).items():
        try:
            answer.result(patience)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
        else:
            found.append(name)
    return _facts(found, frozenset(found) if len(found) == len(topics) else _listed(admin, patience))


def _listed(admin: Any, patience: float) -> frozenset[str]:
    names = admin.list_topics(timeout=patience).topics
    return frozenset(name for name in names if not name.startswith("__"))


def _facts(names: list[str], existing: frozenset[str]) -> KafkaFacts:
    return KafkaFacts({name: TopicFacts("", {}) for name in names}, existing)
