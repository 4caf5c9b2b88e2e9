"""Looks which versions a table holds already, so that what is written next does not hide behind them."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from milepost.config import HBaseSink
from milepost.sink.hbase import connection_options

OFFSET_BITS = 48


def free_generation(spark: SparkSession, sink: HBaseSink) -> int:
    """Return the lowest generation above every cell and marker of the written families; 0 where there is none."""
    columns = {family: dict(names) for family, names in sink.columns.items()}
    cells = (
        spark.read.format("milepost-hbase")
        .options(**connection_options(sink), raw="true", columns=json.dumps(columns))
        .load()
        .select("version")
    )
    # Files without such versions are passed over by HBase, so this is quick where there are none.
    (newest,) = cells.filter(f"version >= {1 << OFFSET_BITS}").agg(F.max("version")).collect()[0]
    if newest is not None:
        return int(newest >> OFFSET_BITS) + 1
    return 1 if cells.limit(1).collect() else 0
