"""What all commands share: options, help in plain words instead of types, and help where no command is given."""

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
    """Return a text whose paragraphs are one line each."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _in_words(params: list[Any], ctx: Any) -> list[Any]:
    for each in params:
        if each.param_type_name == "argument":
            each.display_type_rich = lambda ctx: None  # its name and its text say it all
        elif each.metavar is None:
            typed = hasattr(each, "display_type")  # this version of typer shows types of Python
            each.metavar = "" if each.is_flag else WORDS.get(each.display_type(ctx)) if typed else None
    return params


def option(*words: str, shown: bool | str = True, **more: Any) -> Any:
    """Return an option of a command: its flags, if they are not those of its name, its help, and a word for its value.

    `shown` is the default that help shows, `more` what else `typer.Option` takes.
    """
    flags = [word for word in words if word.startswith("-")]
    text, *metavar = words[len(flags) :]
    return typer.Option(*flags, help=text, metavar=metavar[0] if metavar else None, show_default=shown, **more)


def help_alone(ctx: typer.Context) -> None:
    """Print the help of a group that is called without a command."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit
