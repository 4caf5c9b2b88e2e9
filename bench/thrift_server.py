"""Runs HBase's Thrift server with happybase, the usual way to write HBase from Python; fetched at run time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row

from milepost.services.classpath import jars_of

ARTIFACTS = ("org.apache.hbase:hbase-thrift:2.6.1", "org.apache.thrift:libthrift:0.14.1")
COPY = "org.apache.maven.plugins:maven-dependency-plugin:copy"
START_S = 60
PUTS_PER_CALL = 1000


@dataclass(frozen=True)
class ThriftServer:
    """A running server, and the folder from which Python imports happybase."""

    pid: int
    port: int
    packages: str

    def writer(self, table: str, columns: list[str]) -> Callable[[DataFrame, int], None]:
        """Return a function for foreachBatch that puts the rows of each partition."""
        port, packages = self.port, self.packages

        def put(rows: Iterator[Row]) -> None:
            sys.path.insert(0, packages)
            import happybase

            connection = happybase.Connection("127.0.0.1", port)
            with connection.table(table).batch(batch_size=PUTS_PER_CALL) as batch:
                for row in rows:
                    batch.put(row["id"].encode(), {b"d:" + c.encode(): str(row[c]).encode() for c in columns})
            connection.close()

        def write(batch: DataFrame, _epoch: int) -> None:
            batch.foreachPartition(put)

        return write


@contextmanager
def thrift_server(quorum: str, directory: Path) -> Iterator[ThriftServer]:
    """Fetch the jars and packages into the directory, and run the server until the end of the block."""
    jars, packages, conf = directory / "thrift-jars", directory / "thrift-python", directory / "thrift-conf"
    maven = ["mvn", "-q", "-B", f"-Dmaven.repo.local={Path(__file__).parents[1] / '.m2'}", COPY]
    for artifact in ARTIFACTS:
        subprocess.run([*maven, f"-Dartifact={artifact}", f"-DoutputDirectory={jars}"], check=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(packages), "happybase==1.3.0"]
    subprocess.run(pip, check=True)
    conf.mkdir(parents=True)
    port = quorum.rpartition(":")[2]
    (conf / "hbase-site.xml").write_text(
        "<configuration>"
        + f"<property><name>hbase.zookeeper.quorum</name><value>{quorum}</value></property>"
        + f"<property><name>hbase.zookeeper.property.clientPort</name><value>{port}</value></property>"
        + "<property><name>hbase.thrift.info.port</name><value>-1</value></property></configuration>"
    )
    classpath = os.pathsep.join([str(conf), f"{jars}/*", *map(str, jars_of("hbase"))])
    own = free_port()
    command = ["java", "-Xmx512m", "-cp", classpath, "org.apache.hadoop.hbase.thrift.ThriftServer", "start"]
    with (directory / "thrift.log").open("w") as log:
        process: Any = subprocess.Popen(
            [*command, "--bind", "127.0.0.1", "-p", str(own)], stdout=log, stderr=log
        )
        try:
            await_port(own)
            yield ThriftServer(process.pid, own, str(packages))
        finally:
            process.terminate()
            process.wait()


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_port(port: int) -> None:
    """Wait until a server listens on the port."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return
