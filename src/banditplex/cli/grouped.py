"""Options that several commands share, declared once: a command gets a group of them as one dictionary."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

Command = Callable[..., None]


def add_options(options: Mapping[str, Any], *, into: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command more options; those that are used come as its argument `into`.

    Parameters: `options`, the annotation of each option, whose default is None.
    """

    def decorate(command: Command) -> Command:
        own = [each for each in inspect.signature(command).parameters.values() if each.name != into]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]

        @wraps(command)
        def run(**words: Any) -> None:
            given = {name: words.pop(name) for name in options if name in words}
            command(**words, **{into: {name: value for name, value in given.items() if value is not None}})

        run.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
        return run

    return decorate
