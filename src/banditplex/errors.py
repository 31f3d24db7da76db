"""`InputError` is a user error; every other exception is a bug in banditplex."""


class InputError(ValueError):
    """A user error: a bad file, argument or download.

    The message is one line: what was expected, what came, and where. The command line prints it without a traceback
    and exits with status 2.
    """


class FormatError(InputError):
    """A file that does not follow its format.

    >>> str(FormatError("expected 4 columns, got 3", path="edges.txt", line=12))
    'edges.txt, line 12: expected 4 columns, got 3'
    """

    def __init__(
        self, message: str, *, path: object = None, line: int | None = None, row: int | str | None = None,
        column: str | None = None,
    ) -> None:  # fmt: skip
        self.path, self.line = path, line
        places = {"": path, "line ": line, "row ": row and repr(row), "column ": column and repr(column)}
        where = ", ".join(f"{kind}{place}" for kind, place in places.items() if place is not None)
        super().__init__(f"{where}: {message[:1].lower()}{message[1:]}" if where else message)
