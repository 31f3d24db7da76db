"""How a table is written: its encoding and the delimiter between its columns, from its first bytes."""

import codecs
import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SAMPLE = 1 << 16
"""Bytes that are looked at."""
DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = {"cp1252": "Windows-1252", "utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
"""Names of encodings as users know them."""
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}


@dataclass(frozen=True)
class Dialect:
    """How a table is written; `max_size` limits what it may grow to when it is decompressed."""

    delimiter: str
    encoding: str = "utf-8"
    max_size: int | None = None


def delimiter_name(delimiter: str) -> str:
    """Return the name of a delimiter for a message."""
    return _NAMES.get(delimiter, repr(delimiter))


def sniff_encoding(sample: bytes) -> str:
    r"""Return the encoding of a text: UTF-8 if it can be that, UTF-16 by its mark or its zeros, or Windows-1252.

    >>> [sniff_encoding(text) for text in (b"a", "é".encode(), b"\xe9", "a".encode("utf-16"), b"\0a\0b", b"a\0b")]
    ['utf-8', 'utf-8', 'cp1252', 'utf-16', 'utf-16-be', 'utf-8']
    """
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not sample.startswith(codecs.BOM_UTF32_LE):
        return "utf-16"
    zeros = sample[0::2].count(0), sample[1::2].count(0)
    if 3 * sum(zeros) > len(sample) > 0:  # Latin letters in two bytes each
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=len(sample) < SAMPLE)  # the last may be cut
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def sniff_delimiter(text: str, usual: str, accept: Callable[[Sequence[str]], bool]) -> str:
    r"""Return the delimiter of a table: the usual one of its format if that gives fields to `accept`, or another.

    >>> sniff_delimiter("from;to\n1;2\n", ",", lambda names: "to" in names)
    ';'
    """
    line = text.lstrip("\r\n\ufeff").partition("\n")[0].partition("\r")[0]
    others = [each for each in DELIMITERS if each != usual]
    fields = {each: _split(line, each) for each in (usual, *others)}
    accepted = next((each for each in fields if accept(fields[each])), None)
    if accepted is not None:
        return accepted
    return usual if len(fields[usual]) > 1 else max(fields, key=lambda each: len(fields[each]))


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
