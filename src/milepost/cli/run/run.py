"""`milepost run`: runs a pipeline in the foreground with live progress."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli.argument import completion
from milepost.cli.argument.arguments import File, Settings

Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh", help="Ignore the checkpoints in checkpointing.dir; they are moved aside, not deleted."
    ),
]
AllowNonRestoredState = Annotated[
    bool,
    typer.Option(
        "--allow-non-restored-state",
        help="Start even if the checkpoint contains state of participants that the pipeline no longer has.",
    ),
]


FromSavepoint = Annotated[
    str | None,
    typer.Option(
        "--from-savepoint",
        metavar="PATH",
        help="Start from this savepoint; the contents of checkpointing.dir are moved aside, not deleted.",
    ),
]
ClaimTable = Annotated[
    bool,
    typer.Option(
        "--claim-table",
        help="Take over the HBase table of a pipeline that no longer writes to it; versions start above its own.",
    ),
]
Lines = Annotated[bool, typer.Option("--json", help="Print one JSON document per line instead of text.")]
Claim = Annotated[
    str,
    typer.Option(
        "--claim-mode",
        metavar="claim|no-claim",
        help="Ownership of the savepoint: with `claim`, the job deletes it after its first checkpoint.",
        autocompletion=completion.claim_modes,
    ),
]


def run(  # noqa: PLR0913 - each is an option of the command
    file: File,
    settings: Settings = None,
    fresh: Fresh = False,
    from_savepoint: FromSavepoint = None,
    allow_non_restored_state: AllowNonRestoredState = False,
    claim_mode: Claim = "no-claim",
    claim_table: ClaimTable = False,
    as_json: Lines = False,
) -> None:
    """Run the pipeline in FILE; Ctrl-C stops it at the next boundary, a second Ctrl-C immediately."""
    from milepost.checkpoint.savepoint.claim import claim_mode_of, requested_savepoint
    from milepost.cli.output.console import log_all_output, log_messages
    from milepost.config import load_config
    from milepost.job.monitoring import logs
    from milepost.job.spec import StartOptions
    from milepost.job.startup import early_checks
    from milepost.job.startup.table_ownership import TableUse

    config = load_config(file, settings or [])
    subject = logs.configure(config)
    if config.logging.format == "json":
        log_messages() if as_json else log_all_output()
    options = StartOptions(
        fresh=fresh,
        allow_non_restored_state=allow_non_restored_state,
        savepoint=requested_savepoint(from_savepoint, fresh=fresh),
        claim_mode=claim_mode_of(claim_mode),
        table=TableUse.TAKE_OVER if claim_table else TableUse.CLAIM,
    )
    early_checks.require_not_running(config)
    early_checks.require_startable(config, file.parent, options)

    from milepost.cli.run.foreground import run_in_foreground  # the server is slow to import
    from milepost.cli.run.run_output import JsonOutput, TextOutput

    run_in_foreground(config, file.parent, options, JsonOutput() if as_json else TextOutput(), subject)
