"""Finds the jars of the embedded services inside the installed package; downloads nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from milepost.errors import ServicesError

JARS = Path(__file__).resolve().parent.parent / "jars"

# HBase has two SLF4J bindings; with both on the class path, the file order would choose one.
UNUSED_BINDING = "slf4j-reload4j-"


def jars_of(service: str, *, root: Path = JARS) -> list[Path]:
    """Return the jars of `kafka` or `hbase`, sorted, with exactly one SLF4J binding."""
    folder = root / service
    jars = sorted(jar for jar in folder.glob("*.jar") if not jar.name.startswith(UNUSED_BINDING))
    if not jars:
        raise ServicesError(
            f"The jars of the embedded {service} are missing",
            why=f"{folder} contains no jars",
            fix="In a checkout run `make jars`; otherwise install the milepost wheel, which contains them",
        )
    return jars


def join(entries: Sequence[Path]) -> str:
    """Return the entries as one Java class path; refuse a path that contains its separator."""
    broken = [entry for entry in entries if os.pathsep in str(entry)]
    if broken:
        raise ServicesError(
            f"Java cannot use the path {broken[0]}",
            why=f"It contains {os.pathsep!r}, which separates the entries of a Java class path",
            fix="Move it to a path without that character",
        )
    return os.pathsep.join(map(str, entries))
