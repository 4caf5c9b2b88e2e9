"""`milepost chaos`: injects faults from a seeded plan into a running job, then verifies its table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from milepost.cli.argument.arguments import File, Json
from milepost.cli.output import table

Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same plan.")]
Faults = Annotated[int, typer.Option("--faults", min=1, max=1000, help="Number of faults in the plan.")]
ServicesDir = Annotated[
    Path | None,
    typer.Option(
        "--services",
        metavar="DIR",
        help="Also inject faults into the Kafka and HBase of `services up --dir DIR`.",
    ),
]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Print the plan and exit.")]


def chaos(
    file: File,
    seed: Seed,
    faults: Faults = 5,
    services: ServicesDir = None,
    plan: PlanOnly = False,
    as_json: Json = False,
) -> None:
    """Run the job of FILE, inject faults from a seeded plan, then verify its table; exit 4 if it differs.

    The job must not be running yet, and its producers must be idle while the table is verified.
    """
    from milepost.demo.chaos import Chaos, run  # Spark

    say = table.print_note if as_json else lambda line: table.print_lines([line])
    wanted = Chaos(
        file=file.resolve(), seed=seed, faults=faults, services=services, say=say, warn=table.print_note
    )
    documents = [each.document() for each in wanted.plan]
    if plan:
        if as_json:
            table.print_json({"seed": seed, "plan": documents})
        else:
            table.print_lines([f"{number}. {each}" for number, each in enumerate(wanted.plan, 1)])
        return
    report = run(wanted)
    if as_json:
        table.print_json({"seed": seed, "plan": documents, "result": report.document()})
    else:
        table.print_lines(report.lines())
