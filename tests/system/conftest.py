"""One Spark session for all system tests that need one inside this process: a JVM start costs seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.hbase_client import HBaseClient
from tests.system.lab import Lab

from milepost.config import Config
from milepost.job.spark.session import close_session, open_session, spark_conf
from milepost.job.spark.settings import session_settings, share_modules
from milepost.services import Endpoints


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a pipeline's file would lie: modules of transformations and deserializers are found there."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def spark(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, as `milepost run` opens it; four slots, since real-time keeps one per partition."""
    share_modules(folder)
    config = Config(
        name="system-tests",
        source={"kafka": {"bootstrap-servers": "unused:1", "topics": ["unused"]}},
        sink={
            "hbase": {"quorum": "unused", "table": "unused", "row-key": ["key"], "columns": {"d": ["value"]}}
        },
        checkpointing={"dir": str(folder)},
        spark={"conf": {"spark.sql.shuffle.partitions": 2}},
    )
    log = tmp_path_factory.mktemp("spark") / "driver.log"
    session = open_session("system-tests", spark_conf("local[4]", session_settings(config), log), log)
    yield session
    close_session(session)


@pytest.fixture(scope="session")
def lab(services: Endpoints, hbase: HBaseClient, spark: SparkSession, folder: Path) -> Lab:
    return Lab(services, hbase, spark, folder)
