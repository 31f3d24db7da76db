"""What a notebook shows of a fitted model: which layers help."""

from html import escape

import pandas as pd

MOST = 10  # rows of the table, at most


def as_html(title: str, gains: pd.DataFrame | None) -> str:
    """Return a model that was fitted to a multiplex of this title, with its `layer_gains_`; None: not measured yet."""
    head = f"<p><b>LinkPredictor</b>, fitted to {escape(title)}</p>"
    if gains is None:
        return f"{head}<p><code>model.layer_gains_</code> measures which layers help.</p>"
    helping = gains[gains["helps"]].sort_values("gain", ascending=False, kind="stable")
    if helping.empty:
        return f"{head}<p>No other layer helps.</p>"
    table = helping.head(MOST).drop(columns="helps").rename(columns={"layer": "is helped by"})
    shown = table.to_html(index=False, border=0, float_format="{:.3f}".format)
    more = f"<p>And {len(helping) - MOST} more: <code>model.layer_gains_</code>.</p>" if len(helping) > MOST else ""
    return f"{head}{shown}{more}"
