"""Translate the Python parameters that messages of the library name into flags of the command line."""

import re

from banditplex.cli.data import READING
from banditplex.multiplex.roles import ALIAS, EDGE_ROLES
from banditplex.training.config import REMOVED, SETTINGS

FLAGS: dict[str, str | None] = {
    **{f"{name}=": f"--{name.replace('_', '-')}" for name in (*READING, "context", "width", "evidence")},
    **{f"{name}=True": f"--{name.replace('_', '-')}" for name in (*READING, "exact", "lossy", "resume")},
    **{f"{role}=": f"--columns {ALIAS.get(role, role)}=" for role in EDGE_ROLES},
    **{name: f"--{name.replace('_', '-')}" for name in (*SETTINGS, *REMOVED, "date_format", "max_size") if "_" in name},
    **dict.fromkeys(("overwrite=True", "force=True"), "--force"),
    "read with format=": "read with --from",
    "write with format=": "write with --to",
    "header=False": "--no-header",
    "header=": "--header/--no-header",
    "directed=False": "--undirected",
    "directed=": "--directed/--undirected",
    "missing='drop'": "--missing drop",
    "node_table=": "--nodes",
    **{f"{name}=": f"--policy-option {name}=" for name in ("layers", "prices")},
    **dict.fromkeys(("policy_options=", "policy_options"), "--policy-option"),
    "its options:": None,
}
"""How messages name a parameter, and the flag for it; None: there is no flag, and the hint is left out."""

_PHRASES = "|".join(re.escape(phrase) + r"\b" * phrase[-1].isalnum() for phrase in sorted(FLAGS, key=len, reverse=True))
_PHRASE = re.compile(rf"(?<![\w/.'\"-])(?<!--columns )({_PHRASES})(?=(['\"\[{{\w])?)")
_NO_FLAG = "|".join(re.escape(phrase) for phrase, flag in FLAGS.items() if flag is None)
_NODE_COLUMN = re.compile(r"node_columns=\{'(\w+)': ('[^']*'|\"[^\"]*\")\}")
_SECOND = re.compile(r"(?<=['\"]), --columns (?=\w+=)")  # --columns takes several, joined by commas
_HINT = re.compile(rf"; (?:{_NO_FLAG})[^;]*?(?=\.?$|;)")


def in_flags(message: str) -> str:
    """Return a message of the library in terms of flags."""
    message = _NODE_COLUMN.sub(r"--node-columns \1=\2", _HINT.sub("", message))
    return _SECOND.sub(",", _PHRASE.sub(_flag, message))


def _flag(found: re.Match[str]) -> str:
    """Return the flag for a phrase, with a space before its value if one follows."""
    flag = FLAGS[found[1]] or found[1]
    return f"{flag} " if found[2] and not flag.endswith("=") else flag
