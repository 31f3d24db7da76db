"""What all commands share: help in plain words instead of types, help where no command is given, and completion."""

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

WORDS = {"<int>": "INTEGER", "<int range>": "INTEGER", "<float>": "NUMBER", "<str>": "TEXT", "<path>": "PATH"}
"""What help says instead of types."""


class PlainCommand(TyperCommand):
    """A command whose help shows no types of Python, and paragraphs as wide as the terminal."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.help = None if self.help is None else _flowing(self.help)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters."""
        return _in_words(super().get_params(ctx), ctx)


class PlainGroup(TyperGroup):
    """A group of commands; alone, it prints its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters."""
        return _in_words(super().get_params(ctx), ctx)


def _flowing(text: str) -> str:
    """Return a text whose paragraphs are one line each.

    >>> _flowing("One.\\n\\nTwo\\nlines.")
    'One.\\n\\nTwo lines.'
    """
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _in_words(params: list[Any], ctx: Any) -> list[Any]:
    for each in params:
        if each.param_type_name == "argument":
            each.display_type_rich = lambda ctx: None  # its name and its text say it all
        elif each.metavar is None:
            typed = hasattr(each, "display_type")  # this version of typer shows types of Python
            each.metavar = "" if each.is_flag else WORDS.get(each.display_type(ctx)) if typed else None
    return params


def help_alone(ctx: typer.Context) -> None:
    """Print the help of a group that is called without a command."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit


# Completion


def complete_name(incomplete: str) -> list[str]:
    """Return the data sets that begin as typed."""
    from banditplex.datasets import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]


def complete_data(incomplete: str) -> list[str]:
    """Return the data sets and paths that begin as typed."""
    folder = Path(incomplete or ".").expanduser()
    folder = folder if incomplete.endswith("/") else folder.parent
    paths = [each for each in folder.glob("*") if not each.name.startswith(".")] if folder.is_dir() else []
    shown = [f"{each.as_posix()}{'/' * each.is_dir()}" for each in paths]
    return [*complete_name(incomplete), *(name for name in sorted(shown) if name.startswith(incomplete))]


def complete_format(incomplete: str) -> list[str]:
    """Return the file formats that begin as typed."""
    from banditplex.io import formats

    return [name for name in formats if name.startswith(incomplete)]


def complete_policy(incomplete: str) -> list[str]:
    """Return the policies that begin as typed; those before a comma stay."""
    from banditplex.training.config import SETTINGS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in SETTINGS["policy"].choices if name.startswith(last)]


def complete_method(incomplete: str) -> list[str]:
    """Return the methods of `compare` that begin as typed; those before a comma stay."""
    from banditplex.leaderboard import find_methods

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in find_methods() if name.startswith(last)]
