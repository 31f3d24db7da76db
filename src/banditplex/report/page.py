"""From plain data to one HTML file: styles, scripts, chart library and data are all inside.

The content-security policy allows the scripts and the style of the page by their hashes and nothing else: no request
leaves the page, and a name in the data can never become code. Names are JSON, in which `<` is escaped, and the scripts
put them on the page as text only.
"""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from banditplex.storage.files import replace_file
from banditplex.version import __version__

SCRIPTS = (
    "vendor/echarts.min.js", "web/base.js", "web/matrix.js", "web/charts.js", "web/leaderboard.js",
    "web/predictions.js", "web/sections.js",
)  # fmt: skip
STYLE, TEMPLATE = "web/page.css", "web/page.html.j2"


def write_page(path: Path, data: dict[str, Any]) -> None:
    """Write the page of some data; a file that exists is replaced."""
    replace_file(path, render(data).encode())


def render(data: dict[str, Any]) -> str:
    """Return the page of some data."""
    from jinja2 import Environment
    from markupsafe import Markup

    style, scripts = _text(STYLE), [_text(name) for name in SCRIPTS]
    policy = {
        "default-src": "'none'",
        "script-src": " ".join(map(_hash, scripts)),
        "style-src": _hash(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_text(TEMPLATE))
    return template.render(
        title=data["title"], policy="; ".join(f"{name} {value}" for name, value in policy.items()),
        style=Markup(style), scripts=[Markup(script) for script in scripts],
        data=Markup(as_json(data | {"version": __version__})),
    )  # fmt: skip


def as_json(data: Any) -> str:
    """Return data as JSON for a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(plain(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text.encode("utf-8", "replace").decode()


@cache
def _text(name: str) -> str:
    return files("banditplex.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


STEPS = 65_534  # steps of a packed number from the lowest to the highest of its array; one more code means not known
Packed = dict[str, Any]


def pack(values: ArrayLike) -> Packed:
    """Return an array as 16-bit codes between its lowest and highest number; the page decodes low + code * step.

    The error is at most half a step, the range divided by 131,068. NaN stays NaN.
    """
    array = np.asarray(values, np.float64)
    known = np.isfinite(array)
    low, high = (float(array[known].min()), float(array[known].max())) if known.any() else (0.0, 0.0)
    step = (high - low) / STEPS or 1.0
    codes = np.full(array.shape, STEPS + 1, np.uint16)
    codes[known] = np.rint((array[known] - low) / step)
    encoded = base64.b64encode(codes.astype("<u2").tobytes()).decode()
    return {"shape": list(array.shape), "low": low, "step": step, "codes": encoded}


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numpy numbers as numbers, arrays as lists, what is not finite as None."""
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
