"""One self-contained HTML page about a run: `collect` makes plain data of it, `page` HTML. See docs/report.md."""
