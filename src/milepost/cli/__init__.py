"""The `milepost` command: parses arguments, calls one function, prints, exits."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from milepost.cli.commands import CommandGroup
from milepost.cli.output.encoding import configure_encoding
from milepost.errors import MilepostError

app = typer.Typer(
    name="milepost",
    cls=CommandGroup,
    help="Reliable streaming from Kafka to HBase on Spark.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"milepost {version('milepost')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the stack trace of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command; `main` reads --debug itself."""


def main() -> None:
    """Run the command line; an error goes to stderr and sets the exit code, with a stack trace only for --debug."""
    configure_encoding()
    try:
        app()
    except MilepostError as error:
        _fail(error, error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        from milepost.checkpoint.store.unwritable import is_of_a_directory, refused_start

        known = refused_start(error) if is_of_a_directory(error) else error
        _fail(known, known.exit_code if isinstance(known, MilepostError) else 1)
    except Exception as error:  # every other error ends here too
        _fail(error, 1)


def _fail(error: Exception, exit_code: int) -> None:
    from milepost.cli.output.console import print_error  # rich is slow to import

    if "--debug" in sys.argv:
        traceback.print_exc()
    print_error(error)
    sys.exit(exit_code)
