"""Docstrings as the site shows them: fills in what the library fills in when it is imported, and fences examples."""

import re

import griffe

from banditplex.predictor import LinkPredictor

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
"""A line `>>> ...` and all lines up to the next empty one."""


class Docstrings(griffe.Extension):
    """Changes docstrings before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Fill in the settings of `LinkPredictor`, and put examples without a heading into blocks of code."""
        if obj.docstring is None:
            return
        if obj.path == "banditplex.predictor.LinkPredictor":
            obj.docstring.value = griffe.Docstring(LinkPredictor.__doc__ or "").value
        if "Examples\n----" not in obj.docstring.value:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
