"""SQL over the state of a checkpoint, with a view for each operator; the job may be running."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, IllegalArgumentException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from milepost.checkpoint.store import layout as names
from milepost.checkpoint.store.layout import local_layout
from milepost.checkpoint.store.spark_log import batch_ids, is_entry
from milepost.checkpoint.store.store import Store
from milepost.engine import jvm
from milepost.errors import MilepostError, NotReachableError, PreflightError
from milepost.job.spark.settings import LOCAL_FILES
from milepost.sentence import plain
from milepost.transform import without_log

_SETTINGS = {
    # Do not read files that are named as tables.
    "spark.sql.runSQLOnFiles": "false",
    # As in the job: also read the changes since the last snapshot.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.shuffle.partitions": "4",
}
_JOIN = "symmetricHashJoin"


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateful operator from Spark's state metadata."""

    operator_id: int
    name: str
    properties: Mapping[str, Any]

    def views(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the name and the read options of each view."""
        view, options = f"state_{self.operator_id}", {"operatorId": str(self.operator_id)}
        if self.name == _JOIN:
            yield from ((f"{view}_{side}", options | {"joinSide": side}) for side in ("left", "right"))
        elif "stateVariables" in self.properties:
            for variable in self.properties["stateVariables"]:
                name = str(variable["stateName"])
                if not name.startswith("$"):
                    yield f"{view}_{_word(name)}", options | {"stateVarName": name}
            if self.properties.get("timeMode") not in (None, "NoTime"):
                yield f"{view}_timers", options | {"readRegisteredTimers": "true"}
        else:
            yield view, options


@dataclass(frozen=True, slots=True)
class StateView:
    """A view over the state of an operator, or over one of its state variables."""

    name: str
    operator: str
    columns: str
    """Its columns as DDL, which is available after the session is closed."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query, up to a limit."""

    columns: Sequence[str]
    rows: Sequence[str]
    """JSON objects, serialized by Spark so that numbers keep all digits."""
    is_cut: bool


def session_settings(directory: str) -> dict[str, str]:
    """Return the settings of a session that reads the state in a directory."""
    local = {"spark.sql.streaming.checkpointFileManagerClass": LOCAL_FILES}
    return _SETTINGS | (local if local_layout(directory) is not None else {})


def choose_checkpoint(store: Store, checkpoint_id: int | None) -> int:
    """Return the given checkpoint or the newest; refuse an unknown one."""
    completed = batch_ids(store, names.OFFSETS) & batch_ids(store, names.COMMITS)
    if not completed:
        raise NotReachableError(
            f"{store.address('')} has no completed checkpoint",
            fix="Wait for the first checkpoint, and try again",
        )
    if checkpoint_id is None:
        return max(completed)
    if checkpoint_id not in completed:
        raise NotReachableError(
            f"Checkpoint {checkpoint_id} is not in {store.address('')}",
            why=f"checkpoints {min(completed)} to {max(completed)} are available",
            fix="Use one of them; checkpointing.retained sets how many are kept",
        )
    return checkpoint_id


def require_state(store: Store) -> None:
    """Refuse a job without state."""
    if not any(is_entry(entry.name) for entry in store.entries(names.STATE)):
        raise NotReachableError(
            f"The job in {store.address('')} has no state",
            why="it has no aggregation, join of streams, deduplication or transformWithState",
            fix="Use `milepost checkpoint show` for the content of its checkpoints",
        )


@contextmanager
def spark_path(directory: str) -> Iterator[str]:
    """Provide a path with which Spark's state reader finds a directory.

    The reader encodes paths twice, so a path with special characters is replaced by a symbolic link.
    """
    layout = local_layout(directory)
    if layout is None:
        yield directory
        return
    root = layout.root.absolute()
    if quote(str(root)) == str(root):
        yield str(root)
        return
    with tempfile.TemporaryDirectory(prefix="milepost-state-") as folder:
        link = Path(folder) / "state"
        link.symlink_to(root, target_is_directory=True)
        yield str(link)


def state_views(spark: SparkSession, path: str, checkpoint_id: int) -> list[StateView]:
    """Register the views over the state of a checkpoint, and return them; `path` is from `spark_path`."""
    views = []
    # RocksDB's reader needs a coordinator that Spark starts with the query manager, which is created on access.
    _ = spark.streams.active
    with reporting_unreadable_state(checkpoint_id, path):
        metadata = spark.read.format("state-metadata").option("batchId", checkpoint_id).load(path).collect()
        operators = {
            row.operatorId: Operator(
                row.operatorId, row.operatorName, json.loads(row.operatorProperties or "{}")
            )
            for row in metadata
        }
        for operator in operators.values():
            for name, options in operator.views():
                state = spark.read.format("statestore").options(batchId=str(checkpoint_id), **options)
                rows = _with_unique_fields(state.load(path))
                rows.createOrReplaceTempView(name)
                views.append(StateView(name, operator.name, _ddl(rows.schema)))
    return views


def run_query(spark: SparkSession, views: Sequence[StateView], query: str, limit: int) -> QueryResult:
    """Return the result of a SELECT over the views; refuse a query that reads or changes anything else."""
    java = jvm(spark).io.milepost.plan.StateQuery
    try:
        with without_log():
            rows = DataFrame(java.of(spark._jsparkSession, query), spark)  # noqa: SLF001 - PySpark has no public access to Java
    except PySparkException as error:
        raise _query_error(error, views) from None
    rows = rows.toDF(*unique_names(rows.columns))
    document = F.to_json(F.struct(*(F.col(f"`{_quoted(name)}`") for name in rows.columns)))
    found = [row[0] for row in rows.select(document).limit(limit + 1).collect()]
    return QueryResult(rows.columns, found[:limit], is_cut=len(found) > limit)


@contextmanager
def reporting_unreadable_state(checkpoint_id: int, directory: str) -> Iterator[None]:
    """Turn a failure to read state into an error for the user: a running job removes old checkpoints."""
    try:
        with without_log():
            yield
    except (PySparkException, Py4JJavaError) as error:
        raise NotReachableError(
            f"The state of checkpoint {checkpoint_id} in {directory} cannot be read",
            why=_first_line(error),
            fix="Try again: a running job removes old checkpoints. If the error persists, files are damaged",
        ) from error


def unique_names(columns: Sequence[str]) -> list[str]:
    """Return the names with a number appended to repeated ones, as in `count`, `count_2`.

    Names are compared without regard to case, as in Spark.
    """
    given = {name.lower() for name in columns}
    taken: set[str] = set()
    unique = []
    for name in columns:
        free = name
        if name.lower() in taken:
            numbered = (f"{name}_{number}" for number in count(2))
            free = next(each for each in numbered if each.lower() not in given | taken)
        taken.add(free.lower())
        unique.append(free)
    return unique


def unique_fields(data_type: DataType) -> DataType:
    """Return the type with unique names in each of its structs."""
    if isinstance(data_type, StructType):
        names_of_fields = unique_names(data_type.names)
        return StructType(
            [
                StructField(name, unique_fields(field.dataType), field.nullable)
                for name, field in zip(names_of_fields, data_type.fields, strict=True)
            ]
        )
    if isinstance(data_type, ArrayType):
        return ArrayType(unique_fields(data_type.elementType), data_type.containsNull)
    if isinstance(data_type, MapType):
        key, value = unique_fields(data_type.keyType), unique_fields(data_type.valueType)
        return MapType(key, value, data_type.valueContainsNull)
    return data_type


def _with_unique_fields(rows: DataFrame) -> DataFrame:
    """Return the rows with unambiguous field names: an aggregation may have two fields `count`."""
    wanted = {field.name: unique_fields(field.dataType) for field in rows.schema}
    if all(field.dataType == wanted[field.name] for field in rows.schema):
        return rows
    return rows.select(*(F.col(name).cast(data_type).alias(name) for name, data_type in wanted.items()))


def _ddl(schema: StructType) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)


def _query_error(error: PySparkException, views: Sequence[StateView]) -> MilepostError:
    if isinstance(error, ParseException):
        return PreflightError(
            "The query is not a single SELECT", why=_first_line(error), fix="Write one SELECT over the views"
        )
    known = "; ".join(f"{view.name} ({view.columns})" for view in views)
    if isinstance(error, IllegalArgumentException):
        return PreflightError(
            "The query reads more than the state", why=_first_line(error), fix=f"Read only the views: {known}"
        )
    if isinstance(error, AnalysisException):
        return PreflightError(
            "The query cannot be analyzed", why=_first_line(error), fix=f"The views are {known}"
        )
    return PreflightError("The query cannot be run", why=_first_line(error))


def _first_line(error: Exception) -> str:
    """Return the first line of an error without codes and class names."""
    if isinstance(error, Py4JJavaError):
        return plain(str(error.java_exception.getMessage()))
    message = error.getMessage() if isinstance(error, PySparkException) else None
    return plain(message or str(error))


def _quoted(name: str) -> str:
    return name.replace("`", "``")


def _word(name: str) -> str:
    """Return a name that SQL accepts without quotes."""
    return re.sub(r"\W", "_", name)
