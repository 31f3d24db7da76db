"""One self-contained HTML page about a run: no network, nothing to install.

`collect` turns a run into plain data, `page` turns plain data into HTML. See docs/report.md.
"""
