"""The transformation: SQL over the views of the sources, or a Python function from DataFrame to DataFrame."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark.errors import AnalysisException, PySparkException, PySparkImportError
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession

from milepost.config.reading.module_names import bound_names
from milepost.engine import jvm
from milepost.errors import PreflightError
from milepost.sentence import without_codes

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")

_STATE_PACKAGES = ("pandas", "pyarrow", "google.protobuf")
_INSTALL = "Install it, for transformWithState with: pip install 'milepost[python-state]'"

Transformation = Callable[..., DataFrame]
"""Takes the rows of the source, or of several sources as keyword arguments named after their views."""


def identity(rows: DataFrame) -> DataFrame:
    """Return the rows unchanged."""
    return rows


def from_sql(spark: SparkSession, query: str, views: Mapping[str, DataFrame]) -> Transformation:
    """Return the transformation for a SELECT over the views of the sources."""

    def transform(*_: DataFrame, **__: DataFrame) -> DataFrame:
        for view, rows in views.items():
            rows.createOrReplaceTempView(view)
        return spark.sql(query)

    return transform


def apply(transformation: Transformation, views: Mapping[str, DataFrame], key: str) -> DataFrame:
    """Return the transformed rows; refuse an invalid transformation. Nothing is started."""
    try:
        with without_log():
            # A single source is the only argument, whatever its name; several are passed by name.
            result = transformation(*views.values()) if len(views) == 1 else transformation(**views)
    except AnalysisException as error:
        raise PreflightError(
            f"{key} cannot be analyzed", why=_first_lines(error), fix=_columns(views)
        ) from error
    except PySparkImportError as error:
        raise PreflightError(
            f"{key} needs a package that is not installed", why=_first_lines(error), fix=_INSTALL
        ) from error
    except PySparkException as error:
        raise PreflightError(
            f"{key} failed", why=_first_lines(error), fix="Correct the transformation"
        ) from error
    except (Exception, SystemExit) as error:
        raise PreflightError(
            f"{key} raised {type(error).__name__}{_place(error)}",
            why=str(error) or "the exception has no message",
            fix="Correct the function",
        ) from error
    if not isinstance(result, DataFrame):
        raise PreflightError(
            f"{key} returned {type(result).__name__}, not a DataFrame",
            why="a transformation takes the DataFrames of the sources and returns the DataFrame to write",
            fix="Return a DataFrame; check for a missing `return`",
        )
    if not result.isStreaming:
        raise PreflightError(
            f"{key} returned a DataFrame that does not read the source",
            why="its plan contains no stream, so nothing would ever be written",
            fix="Build the result from the DataFrame argument; in SQL, select from the view of the source",
        )
    _require_streamable(result, key)
    _require_packages(result, key)
    return result


def _columns(views: Mapping[str, DataFrame]) -> str:
    if len(views) == 1:
        return "".join(f"The source has the columns {', '.join(rows.columns)}" for rows in views.values())
    return "; ".join(f"View {view} has the columns {', '.join(rows.columns)}" for view, rows in views.items())


def load_function(reference: str, key: str, search: Path | None) -> Callable[..., Any]:
    """Return the function named by `module:function`; `search` is an additional folder for modules."""
    module, name = _import_reference(reference, key, search)
    function = getattr(module, name, None)
    if not callable(function):
        raise _no_function(key, module.__name__, name)
    return function  # type: ignore[no-any-return]  # callable() does not tell the type checker of what


def load_object(reference: str, key: str, search: Path | None) -> Any:
    """Return the object named by `module:name`; `search` is an additional folder for modules."""
    module, name = _import_reference(reference, key, search)
    try:
        return getattr(module, name)
    except AttributeError:
        raise _no_object(key, module.__name__, name, vars(module)) from None


def require_function(reference: str, key: str, search: Path | None) -> None:
    """Refuse a reference that `load_function` would refuse, as far as that can be determined without an import.

    Importing the module may require the Spark session, which does not exist yet.
    """
    module_name, name = _split_reference(reference, key, search)
    if not _may_have(module_name, name, key):
        raise _no_function(key, module_name, name)


def require_object(reference: str, key: str, search: Path | None) -> None:
    """Refuse a reference that `load_object` would refuse, as far as that can be determined without an import."""
    module_name, name = _split_reference(reference, key, search)
    if not _may_have(module_name, name, key):
        raise _no_object(key, module_name, name, ())


def _may_have(module_name: str, name: str, key: str) -> bool:
    """Return False if a module cannot have a name; refuse a module that cannot be imported."""
    try:
        names = bound_names(module_name)
    except ImportError as error:
        raise _no_module(key, module_name, error) from None
    except (SyntaxError, ValueError) as error:
        raise _faulty_module(key, module_name, error) from None
    return names is None or name in names


def _import_reference(reference: str, key: str, search: Path | None) -> tuple[ModuleType, str]:
    """Import the module of a reference; return the module and the name."""
    module_name, name = _split_reference(reference, key, search)
    try:
        return importlib.import_module(module_name), name
    except ImportError as error:
        raise _no_module(key, module_name, error) from error
    except Exception as error:
        raise _faulty_module(key, module_name, error) from error


def _split_reference(reference: str, key: str, search: Path | None) -> tuple[str, str]:
    """Return module and name of a reference, and add `search` to the module path."""
    if not _REFERENCE.fullmatch(reference):
        raise PreflightError(
            f"{key} is {reference!r}",
            why="a function is written as module:function, with dots between packages",
            fix="Write for example my_project.clean:orders",
        )
    if search is not None and str(search) not in sys.path:
        # Kept: the module may import others from the same folder later.
        sys.path.insert(0, str(search))
    module_name, name = reference.split(":")
    return module_name, name


def _no_module(key: str, module_name: str, error: ImportError) -> PreflightError:
    return PreflightError(
        f"{key}: module {module_name!r} cannot be imported",
        why=str(error),
        fix="Put it in the folder of the pipeline file, or install it in this environment",
    )


def _faulty_module(key: str, module_name: str, error: Exception) -> PreflightError:
    return PreflightError(
        f"{key}: module {module_name!r} fails when it is imported",
        why=f"{type(error).__name__}: {error}",
        fix="Correct the module",
    )


def _no_function(key: str, module_name: str, name: str) -> PreflightError:
    return PreflightError(
        f"{key}: {module_name!r} has no function {name!r}",
        fix="Correct the name, or define the function at the top level of the module",
    )


def _no_object(key: str, module_name: str, name: str, others: Iterable[str]) -> PreflightError:
    near = get_close_matches(name, others, n=1)
    return PreflightError(
        f"{key}: {module_name!r} has no {name!r}",
        fix=(f"Did you mean {near[0]!r}? " if near else "")
        + "Correct the name, or define it at the top level of the module",
    )


def _require_streamable(rows: DataFrame, key: str) -> None:
    """Refuse operations that Spark would refuse when the query starts, after a table may have been created."""
    java = jvm(rows.sparkSession).org.apache.spark.sql
    plan = rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark has no public access to Java
    try:
        java.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(
            plan, java.streaming.OutputMode.Update()
        )
    except AnalysisException as error:
        raise PreflightError(
            f"{key} cannot run on a stream", why=_first_lines(error), fix="Remove the operation"
        ) from error


def is_installed(name: str) -> bool:
    """Return whether a package can be imported; False also if its parent package is missing."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _require_packages(rows: DataFrame, key: str) -> None:
    """Refuse Python state without the packages that the workers import: they would fail at the first record."""
    plan = rows._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - PySpark has no public access to Java
    missing = [name for name in _STATE_PACKAGES if not is_installed(name)]
    if missing and "TransformWithStateInPySpark" in plan:
        raise PreflightError(
            f"{key} needs a package that is not installed",
            why=f"transformWithState in Python imports {', '.join(missing)}",
            fix=_INSTALL,
        )


@contextmanager
def without_log() -> Iterator[None]:
    """Suppress the Java stack trace that PySpark logs for an invalid query: the error has the message."""
    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in loggers:
            logger.disabled = False


def _place(error: BaseException) -> str:
    """Return the location of the exception in user code, as ` in file, line n`."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return f" in {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""


def _first_lines(error: PySparkException) -> str:
    message = error.getMessage() or str(error)
    return without_codes(" ".join(message.split("\n\nJVM stacktrace")[0].split(";\n")[0].split()))[:500]
