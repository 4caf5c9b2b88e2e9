from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from milepost.job.spark.session import close_session, open_session, spark_conf


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark with the engine on its class path."""
    log: Path = tmp_path_factory.mktemp("spark log") / "driver.log"
    session = open_session("tests", spark_conf("local[2]", {"spark.sql.shuffle.partitions": "2"}, log), log)
    try:
        yield session
    finally:
        close_session(session)
