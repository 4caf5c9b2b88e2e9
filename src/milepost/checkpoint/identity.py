"""Remembers which topics a checkpoint belongs to: a topic that was deleted and created again is another topic.

Spark knows topics by name only and would read on in the middle of the new one as soon as it is long enough.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from milepost.checkpoint.layout import Layout
from milepost.errors import PreflightError

FORMAT = 1


def record(layout: Layout, topic_ids: Mapping[str, str]) -> None:
    """Write the ids down, whole or not at all."""
    layout.ours.mkdir(parents=True, exist_ok=True)
    temporary = layout.topics.with_suffix(".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "topics": dict(sorted(topic_ids.items()))}, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(layout.topics)


def recorded(layout: Layout) -> dict[str, str]:
    """Return the ids that were written down; none where a job of plain Spark left the directory."""
    try:
        document = json.loads(layout.topics.read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, and {FORMAT} is the one we know")
        return {str(topic): str(topic_id) for topic, topic_id in document["topics"].items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PreflightError(
            f"{layout.topics} is damaged",
            why=str(error),
            fix="Restore it from a copy, or remove it if you know that no topic was created again",
        ) from error
