"""The door to the driver's JVM: the one place that knows how Python reaches Java."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class BareJvm:
    """The driver's JVM before it has a Spark session: it answers what needs none, seconds earlier."""

    _jvm: Any


def java_map(spark: SparkSession | BareJvm, values: Mapping[str, str]) -> Any:
    """Return a java.util.Map of the driver's JVM with these entries."""
    result = jvm(spark).java.util.HashMap()
    for key, value in values.items():
        result.put(key, value)
    return result


def java_list(spark: SparkSession, values: Iterable[str]) -> Any:
    """Return a java.util.List of the driver's JVM with these values."""
    result = jvm(spark).java.util.ArrayList()
    for value in values:
        result.add(value)
    return result


def jvm(spark: SparkSession | BareJvm) -> Any:
    """Return the driver's JVM; untyped, since it answers to any Java name."""
    return spark._jvm  # noqa: SLF001 - PySpark's only door to Java
