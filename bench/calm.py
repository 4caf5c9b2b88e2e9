"""HBase without compactions, for what is compared window by window or run by run.

A compaction comes when it likes and takes a core for seconds: with two cores that moves a rate by more than what is to
be measured. Every subject of a comparison writes the same, so none is spared more of them than another.
"""

from __future__ import annotations

from milepost.services import Settings

CALM = Settings(
    hbase_properties={"hbase.hstore.compaction.min": "10000", "hbase.hstore.blockingStoreFiles": "10000"}
)
