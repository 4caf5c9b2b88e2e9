"""One Spark session for all system tests that need one inside this process: a JVM start costs seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.hbase_client import HBaseClient
from tests.system.lab import Lab, lab_session

from milepost.services import Endpoints


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a pipeline's file would lie: modules of transformations and deserializers are found there."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def spark(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session, as `milepost run` opens it; four slots, since real-time keeps one per partition."""
    log = tmp_path_factory.mktemp("spark") / "driver.log"
    with lab_session("system-tests", folder, log) as session:
        yield session


@pytest.fixture(scope="session")
def lab(services: Endpoints, hbase: HBaseClient, spark: SparkSession, folder: Path) -> Lab:
    return Lab(services, hbase, spark, folder)
