"""Which topic an offset of a consumer group belongs to; Java's `OffsetOwner` writes it to the offset's metadata."""

from __future__ import annotations

import json
from typing import Any


def parse_owner(metadata: str | None, cluster_id: str | None) -> str | None:
    """Return the id of the topic that an offset belongs to; None if its metadata does not contain one.

    Metadata that Milepost wrote in another cluster does not count, because mirroring tools copy it. Anything after
    the JSON document is ignored, such as the terminating zero of clients in C.
    """
    try:
        document, _ = json.JSONDecoder().raw_decode(metadata or "null")
    except (ValueError, RecursionError):
        return None
    owner: Any = document.get("milepost") if isinstance(document, dict) else None
    if not isinstance(owner, dict) or (owner.get("cluster-id") or "") != (cluster_id or ""):
        return None
    found = owner.get("topic-id")
    return found if isinstance(found, str) else None


def is_of_deleted_topic(owner: str | None, recorded: str | None, topic_id: str) -> bool:
    """Return whether a group offset belongs to a deleted topic of the same name.

    `owner` is the topic id in the metadata of the offset. Without one, the offset belongs to the topic that the job
    has recorded. Without both, it is trusted.
    """
    return (owner or recorded or topic_id) != topic_id
