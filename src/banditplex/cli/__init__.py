"""The command line: one file per subcommand, no logic of its own.

Whatever a command needs is imported inside it, so that `banditplex --help` answers at once.
"""

import os
import sys
import warnings
from typing import Annotated, NoReturn

import typer

from banditplex import __version__
from banditplex.cli import convert, datasets, demo, evaluate, formats, predict, reproduce, train
from banditplex.errors import InputError
from banditplex.terminal import say

app = typer.Typer(
    name="banditplex",
    help="Link prediction on multiplex networks; a bandit learns which layers to look at.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(datasets.app, name="datasets")
app.command()(formats.formats)
app.command()(convert.convert)
app.command()(train.train)
app.command()(predict.predict)
app.command()(evaluate.evaluate)
app.command()(demo.demo)
app.command()(reproduce.reproduce)


def main() -> NoReturn:
    """Run the command line; what the user can mend is one line on stderr and status 2."""
    warnings.formatwarning = lambda message, *_, **__: f"banditplex: {message}\n"
    try:
        try:
            app(standalone_mode=True)
        finally:
            sys.stdout.flush()
    except InputError as error:
        say(str(error))
        raise SystemExit(2) from None
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        sys.stderr.close()
        raise SystemExit(0) from None
    except OSError as error:
        if error.filename is not None:
            raise
        say(f"the output cannot be written: {error.strerror}.")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left of it is not tried again
        raise SystemExit(2) from None
    raise SystemExit(0)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"banditplex {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
