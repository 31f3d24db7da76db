"""Markdown tables and the numbers in them."""

from collections.abc import Iterable, Sequence
from typing import Any


def markdown_table(heads: Sequence[str], lines: Iterable[Sequence[Any]], *, numbers: bool = True) -> str:
    """Return a table. The first column is aligned left, the others right if they hold `numbers`.

    >>> print(markdown_table(["policy", "regret"], [["uniform", "1.0"]]), end="")
    | policy | regret |
    |---|--:|
    | uniform | 1.0 |
    """
    rule = ["---", *["--:" if numbers else "---"] * (len(heads) - 1)]
    rows = [f"| {' | '.join(map(str, line))} |" for line in (heads, *lines)]
    return "\n".join([rows[0], f"|{'|'.join(rule)}|", *rows[1:], ""])


def plus_minus(mean: float, error: float, digits: int = 3) -> str:
    """Return a mean with its standard error."""
    text = number(mean, digits)
    return text if error != error else f"{text} ± {number(error, digits)}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with fixed decimals and without a leading 0."""
    if value != value:
        return "-"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
