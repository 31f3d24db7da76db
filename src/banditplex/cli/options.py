"""What commands share: help in plain words, and options, one for each setting of `banditplex.training.config`."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from banditplex.bandits import POLICIES
from banditplex.bandits.base import SIZES
from banditplex.errors import InputError
from banditplex.training.config import SETTINGS, Config, Setting

WORDS = {"<int>": "INTEGER", "<float>": "NUMBER", "<str>": "TEXT", "<path>": "PATH"}
WORDS |= {f"{kind[:-1]} range>": WORDS[kind] for kind in ("<int>", "<float>")}
"""What help says instead of types."""


class InWords:
    """A command, or a group of them, whose help shows no types of Python."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            if each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: None  # its name and its text say it all
            elif each.metavar is None:
                typed = hasattr(each, "display_type")  # this version of typer shows types of Python
                each.metavar = "" if each.is_flag else WORDS.get(each.display_type(ctx)) if typed else None
        return params


class PlainCommand(InWords, TyperCommand):
    """A command whose help has paragraphs as wide as the terminal."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.help is not None:
            self.help = "\n\n".join(" ".join(part.split()) for part in self.help.split("\n\n"))


class PlainGroup(InWords, TyperGroup):
    """A group of commands; alone, it prints its help."""


def option(*words: str, shown: bool | str = True, **more: Any) -> Any:
    """Return an option: flags, if not those of its name, help, a word for its value; `shown`: the default in help."""
    flags = [word for word in words if word.startswith("-")]
    text, *metavar = words[len(flags) :]
    return typer.Option(*flags, help=text, metavar=metavar[0] if metavar else None, show_default=shown, **more)


def help_alone(ctx: typer.Context) -> None:
    """Print the help of a group that is called without a command."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit


Command = Callable[..., None]


def add_options(options: Mapping[str, Any], *, into: str) -> Callable[[Command], Command]:
    """Return a decorator that adds options, by name and annotation; those that are used come as the argument `into`."""

    def decorate(command: Command) -> Command:
        own = [each for each in signature(command).parameters.values() if each.name != into]
        new = partial(Parameter, kind=Parameter.KEYWORD_ONLY, default=None)
        added = [new(name, annotation=annotation) for name, annotation in options.items()]

        @wraps(command)
        def run(**words: Any) -> None:
            given = {name: words.pop(name) for name in options if name in words}
            command(**words, **{into: {name: value for name, value in given.items() if value is not None}})

        run.__signature__ = Signature([*own, *added])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
        return run

    return decorate


SHORT_FLAGS = {"k": "-k"}
SHORT = 16  # characters of choices that fit beside the name of an option; longer ones follow its text

Target = Annotated[list[str] | None, option("Predict links in this layer; may be repeated.", "LAYER", shown="all")]
PolicyOption = Annotated[
    list[str] | None,
    option(
        'An option of the policy, in JSON, as layers=["a"] of fixed or prices={"a": 3} of cost-aware; may be repeated.',
        "KEY=VALUE",
        rich_help_panel=SETTINGS["policy"].group,
    ),
]


def with_settings(*left_out: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command an option for each setting of training, but for those left out."""
    chosen = {name: each for name, each in SETTINGS.items() if name not in ("policy_options", *left_out)}
    return add_options({name: _as_option(name, each) for name, each in chosen.items()}, into="settings")


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as the library takes them: None for the word none."""
    return {name: None if value == "none" and SETTINGS[name].optional else value for name, value in settings.items()}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse what is wrong whatever the data are, before anything that takes long to import is imported."""
    POLICIES[Config(**settings).checked().policy]


def _as_option(name: str, each: Setting) -> Any:
    """Return the type of an option for a setting; the library has its default, the option only shows it."""
    flag = f"--{name.replace('_', '-')}"
    kind: Any = str if each.default is None else type(each.default)
    listed = "|".join(each.choices)
    text = f"{each.text} One of {', '.join(each.choices)}." if len(listed) > SHORT else each.text
    more: dict[str, Any] = {"metavar": "NAME" if len(listed) > SHORT else listed or None}
    if kind is bool:
        flag = f"{flag}/--no-{name.replace('_', '-')}"
    elif words := [*filter(None, [each.word]), *["none"] * (each.optional and each.low is not None)]:
        several = "[,INTEGER]" * each.several
        kind, more = str, {"metavar": "|".join([f"INTEGER{several}", *words]), "parser": _integer_or(words, several)}
    shown = str([*each.choices, "none"][0] if each.default is None else each.default)
    more |= {"show_default": shown, "rich_help_panel": each.group}
    return Annotated[kind | None, typer.Option(SHORT_FLAGS.get(name, flag), help=text, **more)]


def _integer_or(words: Sequence[str], several: str) -> Callable[[str], int | str | list[int]]:
    """Return a function that reads the value of a setting that may be a word, or a list, instead of an integer."""

    def read(text: str) -> int | str | list[int]:
        if text.lower() in words:
            return text.lower()
        try:
            return [int(part) for part in text.split(",")] if several and "," in text else int(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not an integer or {' or '.join(words)}.") from None

    return read


def parse_options(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return options of a policy, each given as key=value; values are JSON, or else strings."""
    options: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InputError(f"Expected --policy-option KEY=VALUE, got {text!r}.")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return options


def options_by_policy(policies: Sequence[str], texts: Sequence[str] | None) -> dict[str, dict[str, Any]]:
    """Return the options of each policy; an option goes to the policies that take it."""
    if len(set(policies)) != len(policies):
        raise InputError(f"Expected different policies, got {','.join(policies)}.")
    chosen: dict[str, dict[str, Any]] = {name: {} for name in policies}
    for key, value in parse_options(texts).items():
        for name in _takers(policies, key):
            chosen[name][key] = value
    return chosen


def _takers(policies: Sequence[str], option: str) -> list[str]:
    """Return the policies that have an option or, if none has, those that pass it on to another policy."""
    parameters = {name: signature(POLICIES[name]).parameters for name in policies}
    by_layer = [name for name in policies if option == "layers" and "indices" in POLICIES[name].arm_options.values()]
    having = [name for name in policies if option in parameters[name]]
    open_ended = [name for name in policies if any(p.kind is Parameter.VAR_KEYWORD for p in parameters[name].values())]
    takers = [] if option in SIZES else by_layer or having or open_ended
    if not takers:
        raise InputError(f"Expected an option of {' or '.join(policies)} as --policy-option, got {option!r}.")
    return takers
