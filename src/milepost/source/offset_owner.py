"""Which topic an offset of a consumer group belongs to: Java's `OffsetOwner` writes it, as the offset's metadata."""

from __future__ import annotations

import json
from typing import Any


def topic_id(metadata: str | None, cluster_id: str | None) -> str | None:
    """Return the id of the topic that the offset belongs to; None where its metadata does not say.

    Metadata of other tools says nothing, and neither does ours from another cluster: mirroring tools copy it. What
    follows the document is ignored, as the zero that ends it for clients in C.
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
