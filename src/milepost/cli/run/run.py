"""`milepost run`: runs a pipeline in the foreground with live progress."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli.argument import completion
from milepost.cli.argument.arguments import File, Settings

Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh", help="Begin without the checkpoints in checkpointing.dir; they are set aside, not deleted."
    ),
]
AllowNonRestoredState = Annotated[
    bool,
    typer.Option(
        "--allow-non-restored-state",
        help="Go on although the checkpoint holds state of participants that the pipeline no longer has.",
    ),
]


FromSavepoint = Annotated[
    str | None,
    typer.Option(
        "--from-savepoint",
        metavar="PATH",
        help="Begin from this savepoint; what checkpointing.dir holds is set aside, not deleted.",
    ),
]
ClaimTable = Annotated[
    bool,
    typer.Option(
        "--claim-table",
        help="Take the HBase table over from another pipeline that no longer writes it; versions start above its own.",
    ),
]
Lines = Annotated[bool, typer.Option("--json", help="Print one JSON document per line instead of text.")]
Claim = Annotated[
    str,
    typer.Option(
        "--claim-mode",
        metavar="claim|no-claim",
        help="Whose the savepoint is then: claim removes it after the first checkpoint.",
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
    """Run the pipeline in FILE; Ctrl-C stops it at the next boundary, a second Ctrl-C at once."""
    from milepost.checkpoint.savepoint.claim import claim_mode_of, requested_savepoint
    from milepost.cli.output.console import log_everything, log_words
    from milepost.config import load_config
    from milepost.job.monitoring import logs
    from milepost.job.spec import StartOptions
    from milepost.job.startup import early_checks
    from milepost.job.startup.table_ownership import TableUse

    config = load_config(file, settings or [])
    subject = logs.configure(config)
    if config.logging.format == "json":
        log_words() if as_json else log_everything()
    options = StartOptions(
        fresh=fresh,
        allow_non_restored_state=allow_non_restored_state,
        savepoint=requested_savepoint(from_savepoint, fresh=fresh),
        claim_mode=claim_mode_of(claim_mode),
        table=TableUse.TAKE_OVER if claim_table else TableUse.CLAIM,
    )
    early_checks.require_not_running(config)
    early_checks.require_startable(config, file.parent, options)

    from milepost.cli.run.foreground import run_in_foreground  # the server: a refusal does not wait for it
    from milepost.cli.run.run_output import ForPeople, ForPrograms

    run_in_foreground(config, file.parent, options, ForPrograms() if as_json else ForPeople(), subject)
