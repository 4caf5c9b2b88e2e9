"""`milepost chaos`: faults from a seeded plan while a job runs, then the proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from milepost.cli.argument.arguments import File, Json
from milepost.cli.output import table

Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same plan.")]
Faults = Annotated[int, typer.Option("--faults", min=1, max=1000, help="How many faults the plan has.")]
ServicesDir = Annotated[
    Path | None,
    typer.Option(
        "--services", metavar="DIR", help="Hurt the Kafka and the HBase of `services up --dir DIR` too."
    ),
]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Print the plan, and do nothing.")]


def chaos(
    file: File,
    seed: Seed,
    faults: Faults = 5,
    services: ServicesDir = None,
    plan: PlanOnly = False,
    as_json: Json = False,
) -> None:
    """Run the job of FILE, hurt it by a plan that the seed gives, then prove its table; exit 4 where it differs.

    The job must not run already, and its producers must be silent when the table is compared.
    """
    from milepost.demo.chaos import Chaos, run  # Spark

    say = table.tell if as_json else lambda line: table.print_lines([line])
    wanted = Chaos(file=file.resolve(), seed=seed, faults=faults, services=services, say=say, warn=table.tell)
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
