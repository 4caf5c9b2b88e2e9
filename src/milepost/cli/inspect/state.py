"""`milepost state`: SQL over the state of a running job, a checkpoint directory or a savepoint."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli.argument import completion
from milepost.cli.argument.arguments import Json, Settings
from milepost.cli.argument.checkpoint_place import JobArgument, resolve
from milepost.cli.output import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from milepost.inspect.state import QueryResult, StateView

DEFAULT_LIMIT = 1000

Query = Annotated[
    str | None,
    typer.Argument(metavar="SELECT", help="One SELECT over the views. Without it the views are listed."),
]
Checkpoint = Annotated[
    int | None,
    typer.Option(
        "--checkpoint",
        min=0,
        help="Id of the checkpoint. Default: the newest.",
        autocompletion=completion.checkpoints,
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="Maximum number of rows to print.")]


def state(
    job: JobArgument,
    query: Query = None,
    checkpoint: Checkpoint = None,
    limit: Limit = DEFAULT_LIMIT,
    as_json: Json = False,
    settings: Settings = None,
) -> None:
    """Query the state of JOB, a checkpoint directory or a savepoint with SQL; a running job is not affected."""
    from milepost.inspect import state as states  # PySpark

    target = resolve(job, settings or ())
    checkpoint_id = states.choose_checkpoint(target.store, checkpoint)
    states.require_state(target.store)
    with (
        states.spark_path(target.directory) as path,
        _session(target.directory) as spark,
        states.reporting_unreadable_state(checkpoint_id, target.directory),
    ):
        views = states.state_views(spark, path, checkpoint_id)
        answer = None if query is None else states.run_query(spark, views, query, limit)
    if answer is None:
        text = views_json(views, checkpoint_id) if as_json else views_text(views, checkpoint_id)
    else:
        text = answer_json(answer, checkpoint_id) if as_json else answer_text(answer)
    table.print_lines([text])
    if answer is not None and answer.is_cut:
        table.print_note(f"Only the first {limit:,} rows are shown; --limit shows more.")


def views_text(views: Sequence[StateView], checkpoint_id: int) -> str:
    """Return the views as text."""
    headings = ("view", "operator", "columns")
    rows = [(view.name, view.operator, view.columns) for view in views]
    return "\n".join(
        [*table.align_columns(headings, rows, left=headings), "", f"Of checkpoint {checkpoint_id}."]
    )


def views_json(views: Sequence[StateView], checkpoint_id: int) -> str:
    """Return the views as JSON."""
    documents = [{"view": v.name, "operator": v.operator, "columns": v.columns} for v in views]
    return json.dumps({"checkpoint": checkpoint_id, "views": documents}, indent=2)


def answer_text(answer: QueryResult) -> str:
    """Return the rows as a table."""
    documents = [json.loads(row, parse_float=str) for row in answer.rows]
    cells = [[_text(document[column]) for column in answer.columns] for document in documents]
    numbers = {
        column for column in answer.columns if any(type(document[column]) is int for document in documents)
    }
    texts = [column for column in answer.columns if column not in numbers]
    return "\n".join(table.align_columns(answer.columns, cells, left=texts))


def answer_json(answer: QueryResult, checkpoint_id: int) -> str:
    """Return the rows as JSON, with the numbers as Spark wrote them."""
    head = json.dumps({"checkpoint": checkpoint_id, "columns": list(answer.columns), "cut": answer.is_cut})
    return f'{head[:-1]}, "rows": [{", ".join(answer.rows)}]}}'


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_text(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def _session(directory: str) -> Iterator[SparkSession]:
    """Yield a Spark session for this command; its files are deleted at the end."""
    from milepost.cli.output.progress import progress_bar
    from milepost.inspect import state as states
    from milepost.job.spark.session import session, spark_conf

    with tempfile.TemporaryDirectory(prefix="milepost-state-") as folder:
        log = Path(folder) / "driver.log"
        conf = spark_conf("local[*]", states.session_settings(directory), log)
        with progress_bar("Reading the state …"), session("state", conf, log) as spark:
            yield spark
