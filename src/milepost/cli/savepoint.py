"""`milepost savepoint`: takes, lists, checks and disposes savepoints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.checkpoint.savepoint import catalog
from milepost.checkpoint.savepoint.manifest import Savepoint
from milepost.checkpoint.store.checkpoints import CheckpointFiles
from milepost.checkpoint.store.manifest import offsets_to_json
from milepost.checkpoint.store.store import Store
from milepost.cli.argument.arguments import File, Json, Settings
from milepost.cli.argument.running_job import (
    JobName,
    TokenFile,
    connect,
    savepoint_directory,
    take_savepoint,
)
from milepost.cli.migrate.repartition import repartition
from milepost.cli.output import table
from milepost.errors import PreflightError

if TYPE_CHECKING:
    from milepost.inspect.restore_check import RestoreCheck

app = typer.Typer(no_args_is_help=True, help="Create, list, show, check, repartition and dispose savepoints.")

SavepointPath = Annotated[
    str, typer.Argument(metavar="PATH", help="The directory of a savepoint, as a path or URI.")
]
Where = Annotated[
    str, typer.Argument(metavar="DIR|FILE", help="A directory of savepoints, or a pipeline's YAML file.")
]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds to wait for a broker.")]
Allow = Annotated[
    bool,
    typer.Option(
        "--allow-non-restored-state", help="Accept differences between the savepoint and the pipeline."
    ),
]

_HEADINGS = ("savepoint", "job", "checkpoint", "taken at", "trigger", "bytes")


app.command()(repartition)


@app.command()
def create(
    job: JobName,
    directory: Annotated[
        str | None,
        typer.Option(
            "--dir",
            "--savepoint-dir",
            help="Target directory. Default: checkpointing.savepoint-dir. If that is set, it must be inside it.",
        ),
    ] = None,
    as_json: Json = False,
    token_file: TokenFile = None,
) -> None:
    """Take a savepoint of the running JOB; the job continues."""
    connection = connect(job, token_file)
    if not as_json:
        table.print_lines([f"Triggering savepoint for job {connection.job_id}."])
    with savepoint_directory(connection, directory) as target:
        path = take_savepoint(connection, "savepoints", {"target-directory": target})
    if as_json:
        table.print_json({"job-id": connection.job_id, "location": path})
    else:
        table.print_lines([f"Savepoint completed. Path: {path}"])


@app.command("list")
def list_(where: Where, as_json: Json = False) -> None:
    """List the savepoints in a directory, newest first."""
    found = catalog.load_all(_directory(where))
    if as_json:
        table.print_json([summary(savepoint) for savepoint in found])
        return
    rows = [
        (s.path.rpartition("/")[2], s.job_name, str(s.checkpoint_id), _time(s), s.trigger.name, f"{s.size:,}")
        for s in found
    ]
    table.print_lines(table.align_columns(_HEADINGS, rows, left=("savepoint", "job", "taken at", "trigger")))


@app.command()
def show(path: SavepointPath, as_json: Json = False) -> None:
    """Show one savepoint: its job, offsets and files."""
    savepoint = catalog.load(path)
    stored = CheckpointFiles(Store.at(path)).get(savepoint.checkpoint_id)
    offsets = [] if stored is None else [offsets_to_json(each) for each in stored.sources]
    if as_json:
        files = {name: {"size": each.size, "sha256": each.sha256} for name, each in savepoint.files.items()}
        outline = dict(savepoint.outline)
        table.print_json(summary(savepoint) | {"offsets": offsets, "outline": outline, "files": files})
        return
    lines = [
        f"Savepoint {savepoint.path}",
        f"  job         {savepoint.job_name}, id {savepoint.job_id}, of {savepoint.directory}",
        f"  checkpoint  {savepoint.checkpoint_id}, completed {_time(savepoint)}",
        f"  trigger     {savepoint.trigger.name}: {savepoint.trigger.value}",
        f"  written by  {savepoint.written_by}",
        f"  files       {len(savepoint.files):,}, {savepoint.size:,} bytes",
    ]
    for each in offsets:
        for topic, partitions in each.items():
            at = ", ".join(f"{partition}: {offset:,}" for partition, offset in partitions.items())
            lines.append(f"  {topic:<10}  {at}")
    table.print_lines(lines)


@app.command()
def check(
    file: File,
    path: SavepointPath,
    settings: Settings = None,
    allow_non_restored_state: Allow = False,
    timeout: Timeout = 10.0,
    as_json: Json = False,
) -> None:
    """Dry run of `run FILE --from-savepoint PATH`: run every start-up check, and show how much would be replayed."""
    from milepost.checkpoint.savepoint.check import require_same
    from milepost.cli.output.progress import progress_bar
    from milepost.config import load_config
    from milepost.inspect.restore_check import check_restore

    config, savepoint = load_config(file, settings or []), catalog.load(path)
    with progress_bar("Reading the savepoint and the offsets in Kafka …"):
        found = check_restore(config, savepoint, timeout=timeout, now_ms=int(time.time() * 1000))
    if as_json:
        table.print_json(_document(found))
    else:
        table.print_lines(_lines(found))
    require_same(savepoint, list(found.differences), is_allowed=allow_non_restored_state)
    if found.unrestorable:
        raise PreflightError(
            f"The savepoint {savepoint.path} cannot be restored: {'; '.join(found.unrestorable)}",
            why="the job would miss records, or read records of another topic",
            fix="Use a newer savepoint, or start with --fresh",
        )
    _start_checks(file, settings, savepoint, allow_non_restored_state, quiet=as_json)


@app.command()
def dispose(path: SavepointPath, as_json: Json = False) -> None:
    """Delete a savepoint permanently."""
    disposed = catalog.dispose(path)
    if as_json:
        table.print_json(summary(disposed))
    else:
        table.print_lines([f"Savepoint {disposed.path} of checkpoint {disposed.checkpoint_id} is disposed."])


def summary(savepoint: Savepoint) -> dict[str, Any]:
    """Return a savepoint as JSON, without its files."""
    return {
        "path": savepoint.path,
        "name": savepoint.name,
        "job": savepoint.job_name,
        "job-id": savepoint.job_id,
        "checkpoint": savepoint.checkpoint_id,
        "taken-at": savepoint.taken_at.isoformat(),
        "trigger": savepoint.trigger.name,
        "size": savepoint.size,
        "files": len(savepoint.files),
    }


def _start_checks(
    file: Path, settings: Settings, savepoint: Savepoint, is_allowed: bool, *, quiet: bool
) -> None:
    """Run the checks of the start itself, which need Spark: the table, its families, the query."""
    from milepost.cli.run.plan import connecting_bar, open_job_spec, print_plan
    from milepost.config import load_config
    from milepost.job.prepare import prepare_job
    from milepost.job.spec import StartOptions
    from milepost.job.startup.early_checks import make_table_check, require_startable

    config = load_config(file, settings or [])
    options = StartOptions(savepoint=savepoint, allow_non_restored_state=is_allowed)
    require_startable(config, file.parent, options)
    with (
        open_job_spec(config, file.parent, options, make_table_check(config)) as spec,
        connecting_bar(config),
    ):
        plan = prepare_job(spec).plan
    if not quiet:
        print_plan(plan)
        table.print_lines(["OK: this savepoint can be restored."])


def _document(found: RestoreCheck) -> dict[str, Any]:
    return {
        "savepoint": summary(found.savepoint),
        "differences": [each.what for each in found.differences],
        "unrestorable": found.unrestorable,
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "savepoint": each.checkpoint,
                "earliest": each.earliest,
                "latest": each.latest,
                "replayed": each.lag,
                "standing": each.verdict.standing.name,
            }
            for each in found.partitions
        ],
        "replayed": found.replayed,
        "seconds": found.seconds,
    }


def _lines(found: RestoreCheck) -> list[str]:
    headings = ("topic", "part", "savepoint", "earliest", "latest", "replayed", "standing")
    rows = [
        (
            each.topic,
            str(each.partition),
            *(table.number(value) for value in (each.checkpoint, each.earliest, each.latest, each.lag)),
            each.verdict.note or each.verdict.standing.name.lower(),
        )
        for each in found.partitions
    ]
    about = "" if found.seconds is None else f", about {found.seconds:,.0f} s at the rate of its checkpoint"
    return [
        f"Savepoint {found.savepoint.path} of checkpoint {found.savepoint.checkpoint_id} is intact.",
        *table.align_columns(headings, rows, left=("topic", "standing")),
        *(f"Different: {each.what}" for each in found.differences),
        f"{found.replayed:,} records to replay up to the end of the log{about}.",
    ]


def _time(savepoint: Savepoint) -> str:
    return savepoint.taken_at.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _directory(where: str) -> str:
    if not where.endswith((".yaml", ".yml")):
        return where
    from milepost.config import load_config  # slow to import, and not needed for a directory

    directory = load_config(Path(where), []).checkpointing.savepoint_dir
    if directory is None:
        raise PreflightError(
            f"{where} does not set a savepoint directory",
            fix="Set checkpointing.savepoint-dir, or give a directory",
        )
    return directory
