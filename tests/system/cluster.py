"""A standalone Spark cluster of two workers with names of their own, and its executors, which can be paused and killed.

Spark runs no second attempt of a task on the host of the first: a local cluster, all of one host, never speculates.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark
from tests.system.lab import wait_until

HOSTS = ("127.0.0.1", "127.0.0.2")
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_SMALL = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@dataclass(frozen=True)
class Cluster:
    """The address of its master, and its workers' processes."""

    master: str
    workers: tuple[psutil.Process, ...]

    def executors(self) -> list[psutil.Process]:
        """Return the executors that live now."""
        found = []
        for process in (child for worker in self.workers for child in worker.children()):
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if _EXECUTOR in process.cmdline():
                    found.append(process)
        return found

    def paused(self) -> list[psutil.Process]:
        """Return the executors that stand still."""
        return [each for each in self.executors() if each.status() == psutil.STATUS_STOPPED]


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Lend out a cluster with one core on each of two hosts; all of it ends with the block."""
    with ExitStack() as stack:
        port = _free_port()
        master = f"spark://{HOSTS[0]}:{port}"
        deploy = "org.apache.spark.deploy"
        place = ["--host", HOSTS[0], "--port", str(port), "--webui-port", "0"]
        stack.enter_context(_java(folder / "master", f"{deploy}.master.Master", *place))
        wait_until(lambda: _answers(port), "the master of the Spark cluster answers")
        workers = []
        for number, host in enumerate(HOSTS):
            work = folder / f"worker-{number}"
            size = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
            arguments = [*size, "--work-dir", str(work), master]
            process = stack.enter_context(_java(work, f"{deploy}.worker.Worker", *arguments))
            workers.append(psutil.Process(process.pid))
        yield Cluster(master, tuple(workers))


@contextmanager
def _java(folder: Path, main: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a class of Spark's; at the end it is killed with all its children, also those that stand still."""
    home = Path(pyspark.__file__).parent
    folder.mkdir()
    opens = (
        "java.base/java.lang java.base/java.nio java.base/sun.nio.ch java.base/java.util java.base/java.net"
    )
    access = [f"--add-opens={package}=ALL-UNNAMED" for package in opens.split()]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["java", *_SMALL, *access, "-cp", f"{home}/jars/*", main, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # The last two are what Spark's own scripts would set.
            env={
                **os.environ,
                "SPARK_LOCAL_IP": HOSTS[0],
                "SPARK_HOME": str(home),
                "SPARK_SCALA_VERSION": "2.13",
            },
        )
    try:
        yield process
    finally:
        itself = psutil.Process(process.pid)
        for each in (*itself.children(recursive=True), itself):
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGKILL)
        process.wait()


def _free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind((HOSTS[0], 0))
        return int(any_port.getsockname()[1])


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HOSTS[0], port), timeout=1):
        return True
    return False
