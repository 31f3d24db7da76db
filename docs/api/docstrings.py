"""Docstrings as the site shows them: fills in what the library fills in when it is imported, and fences examples."""

import re

import griffe

from banditplex.predictor import _ALSO
from banditplex.training.config import SETTINGS

ARGUMENTS = SETTINGS | _ALSO
EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
"""A line `>>> ...` and all lines up to the next empty one."""


def settings_table() -> str:
    """Return the arguments of `LinkPredictor` as a table in Markdown."""
    rows = [f"| `{name}` | `{each.default!r}` | {each.text} {each.also} |" for name, each in ARGUMENTS.items()]
    return "\n".join(["| argument | default | meaning |", "|---|---|---|", *rows])


class Docstrings(griffe.Extension):
    """Changes docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Fill in the settings of `LinkPredictor`, and put examples without a heading into blocks of code."""
        if obj.docstring is None:
            return
        text = obj.docstring.value.replace("{parameters}", settings_table())
        if "Examples\n----" not in text:
            text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
        obj.docstring.value = text
