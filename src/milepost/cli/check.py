"""`milepost check`: validates the file, reaches Kafka and HBase, prints the start-up plan; starts nothing."""

from __future__ import annotations

from milepost.cli.arguments import File, Settings
from milepost.cli.console import out
from milepost.cli.plan import opened, planned
from milepost.config import load_config


def check(file: File, settings: Settings = None) -> None:
    """Validate FILE, reach Kafka and HBase, and print the start-up plan; nothing is started."""
    config = load_config(file, settings or [])
    with opened(config, file.parent) as recipe:
        planned(recipe)
        out.print("OK: this pipeline can start.")
