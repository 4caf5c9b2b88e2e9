"""Marks every test by its folder and lends out one running Kafka and HBase per session."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from milepost.services import Endpoints, Services

if TYPE_CHECKING:
    from tests.hbase_client import HBaseClient

TESTS = Path(__file__).parent
FOLDERS = ("spark", "system")

# Names a directory where `milepost services up` was run: tests then use it and leave it running.
REUSE = "MILEPOST_TEST_SERVICES"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        item.add_marker(folder if folder in FOLDERS else "unit")


@pytest.fixture(scope="session")
def running_services() -> Iterator[Services]:
    """The instance that all tests share; tests of the services themselves need more than its endpoints."""
    reused = os.environ.get(REUSE)
    if reused:
        instance = Services(reused)
        instance.up()
        yield instance
        return
    directory = Path(tempfile.mkdtemp(prefix="milepost services "))
    instance = Services(directory)
    # The net under the fixture: also a session that dies in its teardown leaves no JVM behind.
    atexit.register(instance.down)
    try:
        with instance:
            yield instance
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def services(running_services: Services) -> Endpoints:
    """A real Kafka and a real HBase: `services.bootstrap_servers`, `services.quorum`."""
    return running_services.endpoints()


@pytest.fixture(scope="session")
def hbase(services: Endpoints) -> Iterator[HBaseClient]:
    """HBase's own Java client, connected to `services`."""
    # Here, so that unit tests need not import PySpark.
    from tests.hbase_client import HBaseClient

    with HBaseClient(services.quorum) as client:
        yield client
