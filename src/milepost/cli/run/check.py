"""`milepost check`: validates the file, connects to Kafka and HBase, prints the start-up plan; starts nothing."""

from __future__ import annotations

from milepost.cli.argument.arguments import File, Json, Settings


def check(file: File, as_json: Json = False, settings: Settings = None) -> None:
    """Validate FILE, connect to Kafka and HBase, and print the start-up plan; nothing is started."""
    from milepost.cli.output import table
    from milepost.cli.run.plan import connecting_bar, open_job_spec, print_plan
    from milepost.config import load_config
    from milepost.job.prepare import prepare_job
    from milepost.job.spec import StartOptions
    from milepost.job.startup.early_checks import make_table_check, require_startable

    config = load_config(file, settings or [])
    require_startable(config, file.parent, StartOptions())
    with open_job_spec(config, file.parent, before_session=make_table_check(config)) as spec:
        with connecting_bar(config):
            plan = prepare_job(spec).plan
    if as_json:
        table.print_json({"name": config.name} | plan.document())
        return
    print_plan(plan)
    table.print_lines(["OK: this pipeline can start."])
