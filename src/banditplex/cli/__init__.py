"""The command line: one file per subcommand, which imports what it needs inside, so that --help answers at once."""

import errno
import os
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer

from banditplex.cli import compare, convert, datasets, demo, evaluate, predict, report, reproduce, train
from banditplex.cli.data import in_flags
from banditplex.cli.options import PlainCommand, PlainGroup, help_alone, option
from banditplex.errors import InputError
from banditplex.terminal import escape, say
from banditplex.training.distributed import is_first, wait_for_first
from banditplex.version import __version__

app = typer.Typer(
    name="banditplex",
    help="Link prediction on multiplex networks; a bandit learns which layers to look at.",
    cls=PlainGroup,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(datasets.app, name="datasets")
for _command in (
    demo.demo, train.train, predict.predict, report.report, evaluate.evaluate, compare.compare, convert.convert,
    convert.formats, reproduce.reproduce,
):  # fmt: skip
    app.command(cls=PlainCommand)(_command)

OUTSIDE = {
    errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EISDIR, errno.ELOOP, errno.EMFILE, errno.ENAMETOOLONG,
    errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.ENOTDIR, errno.EPERM, errno.EROFS, errno.ESTALE,
}  # fmt: skip
"""Errors of files that lie outside of the program: full and read-only disks, rights, files in place of folders."""
UsageError: Any = typer.BadParameter.__base__
"""What all mistakes in options and arguments have in common, wherever typer keeps it."""


def main() -> NoReturn:
    """Run the command line; a user error prints one line on stderr and exits with status 2."""
    warnings.formatwarning = lambda message, *_, **__: f"banditplex: {escape(in_flags(str(message)))}\n"
    if not is_first():
        warnings.simplefilter("ignore")  # the first process says the same
    try:
        try:
            status = app(standalone_mode=False)
        finally:
            sys.stdout.flush()
    except (UsageError, InputError) as error:
        wait_for_first()
        say(in_flags(str(error)) if isinstance(error, InputError) else _in_one_line(error))
        raise SystemExit(2) from None
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        sys.stderr.close()
        raise SystemExit(0) from None
    except OSError as error:
        if error.filename is not None:
            if error.errno not in OUTSIDE:
                raise
            say(f"{error.filename}: {error.strerror}.")
            raise SystemExit(2) from None
        say(f"the output cannot be written: {error.strerror}.")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left of it is not tried again
        raise SystemExit(2) from None
    raise SystemExit(status)


def _in_one_line(error: Any) -> str:
    """Return what is wrong with options or arguments, what came, and where to look."""
    text = " ".join(error.format_message().split()).rstrip(".")
    option = getattr(error, "param", None)
    came, words = _given(option), getattr(option, "metavar", None) or ""
    text += f" {words}" * (text.startswith("Missing option") and words not in text)
    got = f", got {came!r}" if came is not None and repr(came) not in text else ""
    stop = "" if text.endswith("?") else "."
    command = " ".join(["banditplex", *(word for word in sys.argv[1:2] if not word.startswith("-"))])
    if error.ctx is not None:  # an option that lacks its value does not say it
        command = error.ctx.command_path
    return f"{text}{got}{stop} See `{command} --help`."


def _given(option: Any) -> str | None:
    """Return the word that was given for an option, the last of several; None: it was not."""
    names, came = option.opts if option is not None else (), None
    for word, following in zip(sys.argv[1:], [*sys.argv[2:], None], strict=False):
        name, equals, value = word.partition("=")
        if name in names:
            came = value if equals else following
    return came


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"banditplex {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    ctx: typer.Context,
    version: Annotated[bool, option("--version", "Print the version.", callback=_print_version, is_eager=True)] = False,
) -> None:
    help_alone(ctx)
