"""Queries Kafka for the dashboard: with librdkafka, independent of the job and its JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from milepost.checkpoint.model import Offsets
from milepost.config import Config, KafkaSource
from milepost.config.values.secret import MASK
from milepost.errors import NotReachableError
from milepost.source.positions import merge_offsets

if TYPE_CHECKING:
    from milepost.inspect.broker import Broker

TIMEOUT = 5.0


class TopicEnds:
    """Queries the end offsets of a job's topics over connections that stay open."""

    def __init__(self, config: Config, timeout: float = TIMEOUT) -> None:
        self._config = config
        self._timeout = timeout
        self._brokers: list[tuple[KafkaSource, Broker]] = []

    def __call__(self) -> Offsets:
        """Return the end offset of every partition."""
        from milepost.inspect.broker import Broker  # librdkafka

        require_secrets(self._config)
        if not self._brokers:
            self._brokers = [
                (source, Broker.of_source(source, self._timeout)) for source in self._config.views.values()
            ]
        return merge_offsets(
            broker.latest(source.topics or (), source.topic_pattern) for source, broker in self._brokers
        )


def require_secrets(config: Config) -> None:
    """Refuse a configuration with masked passwords: a broker may lock the account after wrong ones."""
    masked = [
        key
        for source in config.views.values()
        for key, value in source.client_properties.items()
        if MASK in str(value)
    ]
    if masked:
        raise NotReachableError(
            "Kafka was not queried: its secrets are not known here",
            why=f"a checkpoint directory stores {', '.join(sorted(set(masked)))} masked",
            fix="Pass the pipeline's FILE instead of its directory",
        )
