"""SQL over the state of a checkpoint: the state of each operator is a view, read beside a running driver."""

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
    # A path in the place of a table is no table here.
    "spark.sql.runSQLOnFiles": "false",
    # As the job has it: what has changed since a snapshot is read too.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.jsonGenerator.ignoreNullFields": "false",
    "spark.sql.shuffle.partitions": "4",
}
_JOIN = "symmetricHashJoin"


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator with state, as Spark's state metadata has it."""

    operator_id: int
    name: str
    properties: Mapping[str, Any]

    def views(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the name of each view and the options with which Spark reads it."""
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
    """A view over the state of one operator, or over one of its parts."""

    name: str
    operator: str
    columns: str
    """Its columns as DDL has them, so that they can be shown after the session is closed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a query, at most as many as were asked for."""

    columns: Sequence[str]
    rows: Sequence[str]
    """Each a JSON object, as Spark writes it: no number loses a digit on the way."""
    is_cut: bool


def session_settings(directory: str) -> dict[str, str]:
    """Return the settings of a session that reads the state in a directory."""
    local = {"spark.sql.streaming.checkpointFileManagerClass": LOCAL_FILES}
    return _SETTINGS | (local if local_layout(directory) is not None else {})


def chosen(store: Store, checkpoint_id: int | None) -> int:
    """Return the checkpoint to look into: the newest, or the given one; refuse what is not there."""
    completed = batch_ids(store, names.OFFSETS) & batch_ids(store, names.COMMITS)
    if not completed:
        raise NotReachableError(
            f"{store.address('')} has no completed checkpoint", fix="Wait for the first one, and ask again"
        )
    if checkpoint_id is None:
        return max(completed)
    if checkpoint_id not in completed:
        raise NotReachableError(
            f"Checkpoint {checkpoint_id} is not in {store.address('')}",
            why=f"there are {min(completed)} to {max(completed)}",
            fix="Name one of them; checkpointing.retained says how many are kept",
        )
    return checkpoint_id


def require_state(store: Store) -> None:
    """Refuse a job that keeps no state."""
    if not any(is_entry(entry.name) for entry in store.entries(names.STATE)):
        raise NotReachableError(
            f"The job in {store.address('')} keeps no state",
            why="it has neither an aggregation, a join of streams, a deduplication nor transformWithState",
            fix="Use `milepost checkpoint show` for what its checkpoints hold",
        )


@contextmanager
def spark_path(directory: str) -> Iterator[str]:
    """Lend out a path under which Spark's reader of state finds a directory.

    It encodes a path twice, so that one with a space or a percent sign is reached by a link without.
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
    """Return the views over the state of one checkpoint at a path of `spark_path`, each registered under its name."""
    views = []
    # RocksDB's reader reports to a coordinator that Spark starts with its manager of queries, which is made when asked.
    _ = spark.streams.active
    with readable(checkpoint_id, path):
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


def ask(spark: SparkSession, views: Sequence[StateView], query: str, limit: int) -> Answer:
    """Return what a SELECT over the views answers; refuse a query that reads anything else, or changes anything."""
    java = jvm(spark).io.milepost.plan.StateQuery
    try:
        with without_log():
            rows = DataFrame(java.of(spark._jsparkSession, query), spark)  # noqa: SLF001 - PySpark's door to Java
    except PySparkException as error:
        raise _refused(error, views) from None
    rows = rows.toDF(*unique_names(rows.columns))
    document = F.to_json(F.struct(*(F.col(f"`{_quoted(name)}`") for name in rows.columns)))
    found = [row[0] for row in rows.select(document).limit(limit + 1).collect()]
    return Answer(rows.columns, found[:limit], is_cut=len(found) > limit)


@contextmanager
def readable(checkpoint_id: int, directory: str) -> Iterator[None]:
    """Tell in a sentence of state that cannot be read: a running job lets old checkpoints go."""
    try:
        with without_log():
            yield
    except (PySparkException, Py4JJavaError) as error:
        raise NotReachableError(
            f"The state of checkpoint {checkpoint_id} in {directory} cannot be read",
            why=_first_line(error),
            fix="Ask again: a running job lets old checkpoints go meanwhile. If it stays so, files are damaged",
        ) from error


def unique_names(columns: Sequence[str]) -> list[str]:
    """Return the names with a number behind each that was there before, as in `count`, `count_2`.

    Spark compares names without regard to case, and so does this.
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
    """Return the rows with fields that SQL can name: two `count`s of an aggregation are ambiguous."""
    wanted = {field.name: unique_fields(field.dataType) for field in rows.schema}
    if all(field.dataType == wanted[field.name] for field in rows.schema):
        return rows
    return rows.select(*(F.col(name).cast(data_type).alias(name) for name, data_type in wanted.items()))


def _ddl(schema: StructType) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)


def _refused(error: PySparkException, views: Sequence[StateView]) -> MilepostError:
    if isinstance(error, ParseException):
        return PreflightError(
            "The query is not a single SELECT", why=_first_line(error), fix="Write one SELECT over the views"
        )
    known = "; ".join(f"{view.name} ({view.columns})" for view in views)
    if isinstance(error, IllegalArgumentException):
        return PreflightError(
            "The query reaches beyond the state", why=_first_line(error), fix=f"Read only the views: {known}"
        )
    if isinstance(error, AnalysisException):
        return PreflightError(
            "The query cannot be analyzed", why=_first_line(error), fix=f"The views are {known}"
        )
    return PreflightError("The query cannot be run", why=_first_line(error))


def _first_line(error: Exception) -> str:
    """Return what an error says first, without what Spark adds for programs."""
    if isinstance(error, Py4JJavaError):
        return plain(str(error.java_exception.getMessage()))
    message = error.getMessage() if isinstance(error, PySparkException) else None
    return plain(message or str(error))


def _quoted(name: str) -> str:
    return name.replace("`", "``")


def _word(name: str) -> str:
    """Return a name that SQL takes without quotes."""
    return re.sub(r"\W", "_", name)
