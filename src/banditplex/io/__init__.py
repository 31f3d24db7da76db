"""Reading and writing multiplexes: one file per format, chosen by name or by content."""

from banditplex.io.base import Format, Progress
from banditplex.io.dispatch import check_place, detect, formats, read, write

__all__ = ["Format", "Progress", "check_place", "detect", "formats", "read", "write"]
