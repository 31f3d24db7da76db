"""The rows of a table of text one by one, with line numbers: for headers, samples, and the place of an error."""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from banditplex.errors import FormatError
from banditplex.io.base import Progress
from banditplex.io.limits import Bounded, unpacked_limit
from banditplex.io.tables.sniff import ENCODINGS, Dialect
from banditplex.io.text import open_binary, show
from banditplex.multiplex.cells import in_all
from banditplex.terminal import escape

Records = Callable[[], Iterator[tuple[int, list[str]]]]


@contextmanager
def opened(path: Path, progress: Progress | None = None, *, max_size: int | None = None) -> Iterator[BinaryIO]:
    """Open a file and, if its name says that it is compressed, decompress it up to a limit."""
    try:
        with open_binary(path, progress) as raw:
            if path.suffix.lower() != ".gz":
                yield raw
                return
            limit = unpacked_limit(path.stat().st_size, max_size)
            with gzip.GzipFile(fileobj=raw) as stream:
                yield io.BufferedReader(Bounded(stream, path, limit), 1 << 18)  # type: ignore[arg-type, type-var]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"expected a complete gzip file, got {error}", path=path) from None


class OtherEncoding(Exception):
    """A text is not in the encoding that was tried; `shown` is the error for the user."""

    def __init__(self, shown: FormatError) -> None:
        self.shown = shown


def codec(dialect: Dialect) -> str:
    """Return the codec that decodes a text of a dialect, without its byte order mark."""
    return "utf-8-sig" if dialect.encoding in ("utf-8", "utf8") else dialect.encoding


def records(path: Path, dialect: Dialect, header: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and fields of each row; the column names come first.

    Bytes that cannot be decoded are kept as lone surrogates.
    """
    with opened(path, max_size=dialect.max_size) as file:
        text = io.TextIOWrapper(file, encoding=codec(dialect), errors="surrogateescape", newline="")
        rows = csv.reader(text, delimiter=dialect.delimiter)
        begin = 1
        try:
            for row in rows:
                if row and not header:
                    yield begin, [str(column) for column in range(1, len(row) + 1)]
                    header = True
                if row:
                    yield begin, row
                begin = rows.line_num + 1
        except csv.Error as error:
            raise FormatError(f"expected a table, got {error}", path=path, line=begin) from None
        except UnicodeError as error:
            raise FormatError(f"expected {dialect.encoding} text, got {error}", path=path, line=begin) from None
        finally:
            text.detach()


def line_of_row(records: Records, row: int) -> int:
    """Return the line in which a row begins."""
    return next(line for index, (line, _) in enumerate(records(), -1) if index == row)


def check_decoded(path: Path, dialect: Dialect, line: int, row: list[str]) -> None:
    """Refuse a row with bytes that could not be decoded."""
    token = next((cell for cell in row if any("\udc80" <= letter <= "\udcff" for letter in cell)), None)
    if token is not None:
        name = ENCODINGS.get(dialect.encoding, dialect.encoding.upper())
        got = show(token.encode(errors="surrogateescape"))
        raise OtherEncoding(FormatError(f"expected {name} text, got {got}", path=path, line=line))


def check_records(path: Path, dialect: Dialect, records: Records) -> None:
    """Raise an error for the first row of a wrong number of columns, or of another encoding if that comes first."""
    rows = records()
    names = next(rows)[1]
    ragged: list[tuple[int, int]] = []
    for line, row in rows:
        if len(row) != len(names):
            ragged.append((line, len(row)))
        if not ragged:
            check_decoded(path, dialect, line, row)
    if ragged:
        line, width = ragged[0]
        expected = f"{len(names)} columns ({', '.join(escape(name)[:40] for name in names)})"
        raise FormatError(f"expected {expected}, got {width}{in_all(len(ragged))}", path=path, line=line)
