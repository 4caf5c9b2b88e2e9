"""`milepost check`: validates the file, reaches Kafka and HBase, prints the start-up plan; starts nothing."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from milepost.cli.console import out
from milepost.cli.plan import print_plan, starting
from milepost.config import load_config
from milepost.job.launch import prepared


def check(
    file: Annotated[Path, typer.Argument(help="The pipeline's YAML file.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override one key of the file.")
    ] = None,
) -> None:
    """Validate FILE, reach Kafka and HBase, and print the start-up plan; nothing is started."""
    config = load_config(file, settings or [])
    with ExitStack() as stack:
        with starting():
            pipeline = stack.enter_context(prepared(config, file.parent))
        print_plan(pipeline.plan)
    out.print("OK: this pipeline can start.")
