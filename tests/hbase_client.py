"""HBase's stock Java client for tests, in a JVM of its own that shares no code with the product."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from milepost.services.classpath import jars_of

QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


class HBaseClient:
    """A connection of the plain Java client; `jvm` is open for calls that have no method here."""

    def __init__(self, quorum: str) -> None:
        py4j = next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
        self._port, self._process = launch_gateway(
            classpath=os.pathsep.join(map(str, [py4j, *jars_of("hbase")])),
            javaopts=["-Xmx256m", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true", QUIET],
            die_on_exit=True,
            return_proc=True,
            redirect_stdout=subprocess.DEVNULL,
            redirect_stderr=subprocess.DEVNULL,
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=self._port, auto_convert=True))
        self.jvm: Any = self._gateway.jvm
        self._hbase = self.jvm.org.apache.hadoop.hbase
        configuration = self._hbase.HBaseConfiguration.create()
        configuration.set("hbase.zookeeper.quorum", quorum)
        configuration.set("hbase.client.retries.number", "3")
        self.connection: Any = self._hbase.client.ConnectionFactory.createConnection(configuration)

    def create_table(self, name: str, *families: str) -> None:
        client = self._hbase.client
        builder = client.TableDescriptorBuilder.newBuilder(self._name(name))
        for family in families:
            builder.setColumnFamily(client.ColumnFamilyDescriptorBuilder.of(family))
        admin = self.connection.getAdmin()
        admin.createTable(builder.build())
        admin.close()

    def put(self, table: str, row: bytes, cells: Mapping[tuple[bytes, bytes], bytes]) -> None:
        put = self._hbase.client.Put(row)
        for (family, qualifier), value in cells.items():
            put.addColumn(family, qualifier, value)
        self._table(table).put(put)

    def delete(self, table: str, row: bytes) -> None:
        self._table(table).delete(self._hbase.client.Delete(row))

    def get(self, table: str, row: bytes) -> dict[tuple[bytes, bytes], bytes]:
        cell_util = self._hbase.CellUtil
        cells = self._table(table).get(self._hbase.client.Get(row)).rawCells() or []
        return {
            (bytes(cell_util.cloneFamily(cell)), bytes(cell_util.cloneQualifier(cell))): bytes(
                cell_util.cloneValue(cell)
            )
            for cell in cells
        }

    def count(self, table: str) -> int:
        scanner = self._table(table).getScanner(self._hbase.client.Scan())
        rows = 0
        while scanner.next() is not None:
            rows += 1
        scanner.close()
        return rows

    def compact(self, table: str) -> None:
        """Flush the table and run a major compaction to its end."""
        admin, name = self.connection.getAdmin(), self._name(table)
        admin.flush(name)
        before = admin.getLastMajorCompactionTimestamp(name)
        admin.majorCompact(name)
        deadline = time.monotonic() + 30
        while admin.getLastMajorCompactionTimestamp(name) == before:
            assert time.monotonic() < deadline, f"no major compaction of {table} within 30 s"
            time.sleep(0.05)

    def write_requests(self, table: str) -> int:
        """Return how many mutations the table's regions have taken since they were opened."""
        admin, name = self.connection.getAdmin(), self._name(table)
        return sum(
            region.getWriteRequestCount()
            for server in admin.getRegionServers()
            for region in admin.getRegionMetrics(server, name)
        )

    def close(self) -> None:
        self.connection.close()
        self._gateway.shutdown()
        # The JVM ends when its standard input does.
        self._process.stdin.close()
        self._process.wait(timeout=20)

    def __enter__(self) -> HBaseClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _name(self, table: str) -> Any:
        return self._hbase.TableName.valueOf(table)

    def _table(self, name: str) -> Any:
        return self.connection.getTable(self._name(name))
