"""Spark alone on a job's checkpoint directory: run as a process that has no jar and no module of Milepost.

`python plain_spark.py KIND SERVERS TOPIC DIRECTORY OUTPUT JARS` runs the query to the topic's end and writes every row
that it was given as a line of JSON, with the number of its batch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

STATELESS = "SELECT id, n, `partition`, `offset` FROM records"
STATEFUL = "SELECT id, sum(n) AS n FROM records GROUP BY id"


def main(kind: str, servers: str, topic: str, directory: str, output: str, jars: str) -> None:
    """Go on where the directory says, and end at the topic's end."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("from_json(CAST(value AS STRING), 'id STRING, n INT') AS row", "`partition`", "`offset`")
        .selectExpr("row.id", "row.n", "`partition`", "`offset`")
    )
    records.createOrReplaceTempView("records")

    def write(rows: DataFrame, batch_id: int) -> None:
        with Path(output).open("a") as lines:
            for row in rows.collect():
                lines.write(json.dumps({"batch": batch_id, **row.asDict()}) + "\n")

    query = (
        spark.sql(STATELESS if kind == "stateless" else STATEFUL)
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", directory)
        .outputMode("update")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
