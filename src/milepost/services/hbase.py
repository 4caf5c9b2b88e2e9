"""The embedded HBase: ZooKeeper, master and region server in one JVM over the local file system."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar
from xml.sax.saxutils import escape

from milepost.services import classpath
from milepost.services.java import run_tool
from milepost.services.model import HBASE, Settings
from milepost.services.ports import LOOPBACK, accepts_connections

DEFAULTS: Mapping[str, str] = {
    "hbase.wal.provider": "filesystem",
    "hbase.unsafe.stream.capability.enforce": "false",
    # The checksumming local file system keeps flushed WAL entries in memory: a kill would lose them.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # The waits for other machines of a cluster would take 8 s of a 12 s start.
    "hbase.regionserver.msginterval": "300",
    "hbase.master.wait.on.regionservers.mintostart": "1",
    "hbase.master.wait.on.regionservers.interval": "50",
    "hbase.master.wait.on.regionservers.timeout": "200",
    "hbase.procedure.remote.dispatcher.delay.msec": "5",
    # ZooKeeper runs in the same JVM: if it is gone, the JVM is ending, and retries are useless.
    "zookeeper.recovery.retry": "0",
    "zookeeper.recovery.retry.intervalmill": "100",
    "zookeeper.session.timeout.localHBaseCluster": "40000",
    "hbase.zookeeper.property.maxClientCnxns": "0",
    "hbase.regionserver.handler.count": "16",
    "hbase.master.procedure.threads": "4",
    # Each region with a row allocates a full chunk, 2 MB by default: a few hundred small tables would fill the heap.
    "hbase.hregion.memstore.mslab.chunksize": "262144",
    # Nothing to balance with one server.
    "hbase.balancer.period": "86400000",
    "hbase.normalizer.period": "86400000",
    # A benchmark writes gigabytes of WAL in minutes: old files are deleted after one minute, not ten.
    "hbase.master.logcleaner.ttl": "60000",
    "hbase.master.cleaner.interval": "60000",
}

ADD_OPENS = ("java.lang", "java.lang.reflect", "java.nio", "sun.nio.ch")
ADD_EXPORTS = ("jdk.internal.misc", "sun.nio.ch")

# Only a hint when to start probing: a probe is a JVM, and one that runs too early slows down the start.
INITIALIZED = "Master has completed initialization"
HINT_TIMEOUT = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class HBase:
    """Configures, starts and probes an HBase under `folder`."""

    folder: Path
    settings: Settings

    name: ClassVar[str] = HBASE
    port_names: ClassVar[tuple[str, ...]] = ("zookeeper",)
    abort_markers: ClassVar[tuple[str, ...]] = ("***** ABORTING master", "***** ABORTING region server")

    def address(self, ports: Mapping[str, int]) -> str:
        """Return the ZooKeeper quorum."""
        return f"{LOOPBACK}:{ports['zookeeper']}"

    def classpath(self) -> str:
        """Return the class path of the server; the folder of hbase-site.xml comes first."""
        return classpath.join([self.folder / "conf", *classpath.jars_of(HBASE)])

    def configure(self, ports: Mapping[str, int], java: Path) -> None:
        """Write hbase-site.xml and delete the data of ZooKeeper."""
        del java
        conf = self.folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "hbase-site.xml").write_text(site(self.folder, ports, self.settings), encoding="utf-8")
        # HBase stores nothing permanent there, and the new master would wait until the sessions of a
        # killed process expire.
        shutil.rmtree(self.folder / "zookeeper", ignore_errors=True)

    def command(self) -> list[str]:
        """Return the JVM's heap and access flags, main class and arguments."""
        opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ADD_OPENS]
        exports = [f"--add-exports=java.base/{package}=ALL-UNNAMED" for package in ADD_EXPORTS]
        heap = self.settings.hbase_heap
        return [f"-Xmx{heap}", *opens, *exports, "org.apache.hadoop.hbase.master.HMaster", "start"]

    def is_usable(self, ports: Mapping[str, int], *, java: Path, waited: timedelta) -> bool:
        """Return whether a client reaches the master and reads hbase:meta, by HBase's own canary tool."""
        if not accepts_connections(ports["zookeeper"]) or (
            waited < HINT_TIMEOUT and not self._is_initialized()
        ):
            return False
        canary = ["org.apache.hadoop.hbase.tool.CanaryTool", "-t", "20000", "hbase:meta"]
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        result = run_tool(java, self.classpath(), [quiet, *canary], timeout=timedelta(seconds=20))
        return result.returncode == 0

    def _is_initialized(self) -> bool:
        try:
            return INITIALIZED in (self.folder / "log" / f"{HBASE}.log").read_text(errors="replace")
        except OSError:
            return False


def site(folder: Path, ports: Mapping[str, int], settings: Settings) -> str:
    """Return hbase-site.xml; the settings for loopback and for our folders cannot be overridden."""
    fixed = {
        "hbase.cluster.distributed": "false",
        # Hadoop's Path takes the plain text: a percent-encoded space would be a folder named %20.
        "hbase.rootdir": f"file://{folder / 'data'}",
        "hbase.tmp.dir": str(folder / "tmp"),
        "hbase.zookeeper.quorum": LOOPBACK,
        "hbase.zookeeper.property.clientPort": str(ports["zookeeper"]),
        "hbase.zookeeper.property.dataDir": str(folder / "zookeeper"),
        # Clients get these from ZooKeeper, so any free port works.
        "hbase.master.port": "0",
        "hbase.regionserver.port": "0",
        "hbase.master.info.port": "-1",
        "hbase.regionserver.info.port": "-1",
    }
    places = ("hbase.master.hostname", "hbase.regionserver.hostname")
    bindings = ("hbase.master.ipc.address", "hbase.regionserver.ipc.address")
    loopback = dict.fromkeys((*places, *bindings), LOOPBACK)
    merged = {**DEFAULTS, **settings.hbase_properties, **fixed, **loopback}
    lines = [
        f"  <property><name>{escape(key)}</name><value>{escape(value)}</value></property>"
        for key, value in merged.items()
    ]
    return "\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', "<configuration>", *lines, "</configuration>\n"]
    )
