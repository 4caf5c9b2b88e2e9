"""Asks HBase whether the sink's table exists, without a JVM; the driver's JVM repeats the check."""

from __future__ import annotations

import getpass
import os
import struct
from collections.abc import Mapping
from xml.etree.ElementTree import ParseError

from milepost.config import HBaseSink
from milepost.sink.lookup.master import Master, parse_address
from milepost.sink.lookup.settings import Ensemble, find_ensemble
from milepost.sink.lookup.wire import Deadline, connected
from milepost.sink.lookup.zookeeper import read_node
from milepost.sink.table import TableFacts

PATIENCE_S = 1.5
"""Longer than a reachable HBase needs."""
_ONE_SERVER_S = 0.5


def missing_table(
    sink: HBaseSink, environment: Mapping[str, str] = os.environ, patience: float = PATIENCE_S
) -> TableFacts | None:
    """Return the facts of a missing table; None if the table exists or if there is no certain answer."""
    try:
        ensemble = find_ensemble(sink)
        if ensemble is None:
            return None
        deadline = Deadline.after(patience)
        host, port = _active_master(ensemble, deadline)
        with connected(host, port, deadline) as wire:
            master = Master(wire)
            master.send_header(environment.get("HADOOP_USER_NAME") or getpass.getuser())
            return _ask(master, sink.table)
    except (OSError, ValueError, LookupError, struct.error, ParseError):
        return None  # the check in the JVM reports it


def _active_master(ensemble: Ensemble, deadline: Deadline) -> tuple[str, int]:
    for host, port in ensemble.servers:
        try:
            with connected(host, port, deadline.within(_ONE_SERVER_S)) as wire:
                return parse_address(read_node(wire, f"{ensemble.parent}/master"))
        except OSError:
            continue
    raise LookupError("no ZooKeeper server answers")


def _ask(master: Master, table: str) -> TableFacts | None:
    namespace, colon, qualifier = table.rpartition(":")
    if master.has_table(namespace if colon else "default", qualifier):
        return None
    others = master.tables()
    if table in others:
        return None
    namespaces = master.namespaces()
    return TableFacts(
        exists=False, namespace_exists=not colon or namespace in namespaces, others=tuple(sorted(others))
    )
