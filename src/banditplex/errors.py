"""What a user can mend is an `InputError`; everything else is a defect of ours."""


class InputError(ValueError):
    """Something outside the library is wrong: a file, an argument, a download.

    The message is one line that says what was expected, what came, and where. The command line prints it
    and exits with status 2, without a traceback.
    """


class FormatError(InputError):
    """A file that does not say what its format promises.

    >>> str(FormatError("expected 4 columns, got 3", path="edges.txt", line=12))
    'edges.txt, line 12: expected 4 columns, got 3'
    """

    def __init__(
        self,
        message: str,
        *,
        path: object = None,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.path, self.line = path, line
        places = {"": path, "line ": line, "row ": row, "column ": column and repr(column)}
        where = ", ".join(f"{kind}{place}" for kind, place in places.items() if place is not None)
        super().__init__(f"{where}: {message}" if where else message)
