"""Marks every test by its folder and lends out one running Kafka and HBase per session."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from tests.jvm import SUBMIT_OPTIONS, driver_options

from milepost.services import Endpoints, Services

if TYPE_CHECKING:
    from tests.hbase_client import HBaseClient

pytest_plugins = ["tests.ending"]

TESTS = Path(__file__).parent
FOLDERS = ("spark", "system")

# Minutes each: begun last, one worker would wait for the other.
LONG = (
    "test_kill_at_each_step",
    "test_demo",
    "test_adopt",
    "test_stateful",
    "test_fencing",
    "test_demo_alignment",
)

# Names a directory where `milepost services up` was run: tests then use it and leave it running.
REUSE = "MILEPOST_TEST_SERVICES"


def pytest_configure(config: pytest.Config) -> None:
    # How long one example takes says more about the machine than about the code.
    hypothesis.settings.register_profile("no deadline", deadline=None)
    hypothesis.settings.load_profile("no deadline")
    # The width of the terminal that pytest writes to, which xdist tells its workers, is not that of a test's tables.
    os.environ.pop("COLUMNS", None)
    os.environ.setdefault(SUBMIT_OPTIONS, driver_options())
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        # The registry of running jobs lies in the temporary folder; what one worker starts or leaves behind
        # must not be seen by the tests of the other.
        folder = tempfile.mkdtemp(prefix=f"milepost-tests-{worker}-")
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Print how a crashed worker ended, which xdist does not report: -9 is a SIGKILL, -11 a segmentation fault."""
    popen = getattr(getattr(node.gateway, "_io", None), "popen", None)
    if error is not None and popen is not None:
        print(f"\nWorker {node.gateway.id} ended with {popen.wait(timeout=10)}.", file=sys.stderr)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(folder_of(item))
    items.sort(key=turn_of)


def folder_of(item: pytest.Item) -> str:
    folder = item.path.relative_to(TESTS).parts[0]
    return folder if folder in FOLDERS else "unit"


def turn_of(item: pytest.Item) -> tuple[int, int]:
    """Order files: local Sparks before the one that system tests share, long files early, unit tests last."""
    folders = (*FOLDERS, "unit")
    name = item.path.stem
    return folders.index(folder_of(item)), LONG.index(name) if name in LONG else len(LONG)


@pytest.fixture(scope="session")
def running_services() -> Iterator[Services]:
    """The instance that all tests share; tests of the services themselves need more than its endpoints."""
    reused = os.environ.get(REUSE)
    if reused:
        # Here, since pytest wants to be the first to import its plugins.
        from tests.ending import unmarked

        instance = Services(reused)
        with unmarked():
            instance.up()
        yield instance
        return
    directory = Path(tempfile.mkdtemp(prefix="milepost services "))
    instance = Services(directory)
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
