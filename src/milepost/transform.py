"""The user's transformation: SQL over the sources' views, or a Python function from DataFrame to DataFrame."""

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
"""Takes the source's rows, or those of several sources by the names of their views."""


def identity(rows: DataFrame) -> DataFrame:
    """Pass the records on as they are."""
    return rows


def from_sql(spark: SparkSession, query: str, views: Mapping[str, DataFrame]) -> Transformation:
    """Return the transformation that a SELECT over the sources' views describes."""

    def transform(*_: DataFrame, **__: DataFrame) -> DataFrame:
        for view, rows in views.items():
            rows.createOrReplaceTempView(view)
        return spark.sql(query)

    return transform


def apply(transformation: Transformation, views: Mapping[str, DataFrame], key: str) -> DataFrame:
    """Return the transformed rows, or refuse with the user's own mistake; nothing is started by this."""
    try:
        with without_log():
            # One source is the one argument whatever it is called; several are told apart by their names.
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
            why=str(error) or "it was raised without a message",
            fix="Correct the function",
        ) from error
    if not isinstance(result, DataFrame):
        raise PreflightError(
            f"{key} returned {type(result).__name__}, not a DataFrame",
            why="a transformation takes the sources' DataFrames and returns the one to be written",
            fix="Return the DataFrame; add the missing `return` if there is none",
        )
    if not result.isStreaming:
        raise PreflightError(
            f"{key} returned a DataFrame that does not read the source",
            why="its plan holds no stream, so nothing would ever be written",
            fix="Build the result from the DataFrame that is passed in; in SQL, select from the source's view",
        )
    _require_streamable(result, key)
    _require_packages(result, key)
    return result


def _columns(views: Mapping[str, DataFrame]) -> str:
    if len(views) == 1:
        return "".join(f"The source has the columns {', '.join(rows.columns)}" for rows in views.values())
    return "; ".join(f"View {view} has the columns {', '.join(rows.columns)}" for view, rows in views.items())


def load_function(reference: str, key: str, search: Path | None) -> Callable[..., Any]:
    """Return the function that `module:function` names; `search` is a further folder to look for the module."""
    module, name = _located(reference, key, search)
    function = getattr(module, name, None)
    if not callable(function):
        raise _no_function(key, module.__name__, name)
    return function  # type: ignore[no-any-return]  # callable() does not tell the type checker of what


def load_object(reference: str, key: str, search: Path | None) -> Any:
    """Return what `module:name` names, whatever it is; `search` is a further folder to look for the module."""
    module, name = _located(reference, key, search)
    try:
        return getattr(module, name)
    except AttributeError:
        raise _no_object(key, module.__name__, name, vars(module)) from None


def require_function(reference: str, key: str, search: Path | None) -> None:
    """Refuse what `load_function` would refuse, as far as it shows without running the module.

    The module may need the Spark session at its import, and that does not exist yet.
    """
    module_name, name = _split(reference, key, search)
    if not _may_have(module_name, name, key):
        raise _no_function(key, module_name, name)


def require_object(reference: str, key: str, search: Path | None) -> None:
    """Refuse what `load_object` would refuse, as far as it shows without running the module."""
    module_name, name = _split(reference, key, search)
    if not _may_have(module_name, name, key):
        raise _no_object(key, module_name, name, ())


def _may_have(module_name: str, name: str, key: str) -> bool:
    """Return False where a module cannot have a name; refuse a module that cannot be imported."""
    try:
        names = bound_names(module_name)
    except ImportError as error:
        raise _no_module(key, module_name, error) from None
    except (SyntaxError, ValueError) as error:
        raise _faulty_module(key, module_name, error) from None
    return names is None or name in names


def _located(reference: str, key: str, search: Path | None) -> tuple[ModuleType, str]:
    """Import the module that a reference names, and return it with the name in it."""
    module_name, name = _split(reference, key, search)
    try:
        return importlib.import_module(module_name), name
    except ImportError as error:
        raise _no_module(key, module_name, error) from error
    except Exception as error:
        raise _faulty_module(key, module_name, error) from error


def _split(reference: str, key: str, search: Path | None) -> tuple[str, str]:
    """Return module and name of a reference; the module can be found in `search` from then on."""
    if not _REFERENCE.fullmatch(reference):
        raise PreflightError(
            f"{key} is {reference!r}",
            why="a function is named as module:function, with dots between packages",
            fix="For example: my_project.clean:orders",
        )
    if search is not None and str(search) not in sys.path:
        # Kept for good: the module may import its neighbours later, when it runs.
        sys.path.insert(0, str(search))
    module_name, name = reference.split(":")
    return module_name, name


def _no_module(key: str, module_name: str, error: ImportError) -> PreflightError:
    return PreflightError(
        f"{key}: module {module_name!r} cannot be imported",
        why=str(error),
        fix="Put it beside the pipeline file or install it in this environment",
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
    """Refuse what Spark would refuse when the query starts, such as sorting: by then a table may have been created."""
    java = jvm(rows.sparkSession).org.apache.spark.sql
    plan = rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - PySpark's door to Java
    try:
        java.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(
            plan, java.streaming.OutputMode.Update()
        )
    except AnalysisException as error:
        raise PreflightError(
            f"{key} cannot run on a stream", why=_first_lines(error), fix="Take that operation out"
        ) from error


def is_installed(name: str) -> bool:
    """Return whether a package can be imported; of one whose parent is missing, Python says so by an error."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _require_packages(rows: DataFrame, key: str) -> None:
    """Refuse state in Python without what its workers import: they would fail at the first record."""
    plan = rows._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - PySpark's door to Java
    missing = [name for name in _STATE_PACKAGES if not is_installed(name)]
    if missing and "TransformWithStateInPySpark" in plan:
        raise PreflightError(
            f"{key} needs a package that is not installed",
            why=f"transformWithState in Python imports {', '.join(missing)}",
            fix=_INSTALL,
        )


@contextmanager
def without_log() -> Iterator[None]:
    """Keep PySpark from printing the Java stack trace of a mistake in a query: the error says what is wrong."""
    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in loggers:
            logger.disabled = False


def _place(error: BaseException) -> str:
    """Return where the user's code raised, as ` in file, line n`."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return f" in {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""


def _first_lines(error: PySparkException) -> str:
    message = error.getMessage() or str(error)
    return without_codes(" ".join(message.split("\n\nJVM stacktrace")[0].split(";\n")[0].split()))[:500]
