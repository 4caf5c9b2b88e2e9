"""HBase settings without compactions, for comparisons of windows or runs.

A compaction starts at an arbitrary time and uses a core for seconds. With two cores this changes a rate by more than
the effect to measure. Every subject of a comparison writes the same rows, so none has an advantage.
"""

from __future__ import annotations

from milepost.services import Settings

CALM = Settings(
    hbase_properties={"hbase.hstore.compaction.min": "10000", "hbase.hstore.blockingStoreFiles": "10000"}
)
