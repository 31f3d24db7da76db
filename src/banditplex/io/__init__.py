"""Read and write multiplexes: one module per format, chosen by file name or content."""

from banditplex.io.base import Format, Progress
from banditplex.io.dispatch import check_place, detect, formats, read, write

__all__ = ["Format", "Progress", "check_place", "detect", "formats", "read", "write"]
