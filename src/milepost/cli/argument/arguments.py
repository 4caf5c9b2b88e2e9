"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(help="The pipeline's YAML file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override one key of the file.")
]
