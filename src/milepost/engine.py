"""Access to the JVM of the driver: the only module that knows how Python calls Java."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class BareJvm:
    """The JVM of the driver before the Spark session exists, for calls that need no session."""

    _jvm: Any


def java_map(spark: SparkSession | BareJvm, values: Mapping[str, str]) -> Any:
    """Return a java.util.Map in the JVM of the driver."""
    result = jvm(spark).java.util.HashMap()
    for key, value in values.items():
        result.put(key, value)
    return result


def java_list(spark: SparkSession, values: Iterable[str]) -> Any:
    """Return a java.util.List in the JVM of the driver."""
    result = jvm(spark).java.util.ArrayList()
    for value in values:
        result.add(value)
    return result


def jvm(spark: SparkSession | BareJvm) -> Any:
    """Return the JVM of the driver; untyped, because it resolves any Java name."""
    return spark._jvm  # noqa: SLF001 - PySpark has no public access to Java
