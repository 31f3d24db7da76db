"""Drafts of processes that are gone."""

from pathlib import Path

from banditplex.storage.files import DRAFT, draft_folder


def dead_draft(path: Path) -> Path:
    """Return the name of a draft of `path` by a process that does not exist."""
    with draft_folder(path) as mine:
        _, pid, start, _ = DRAFT.fullmatch(mine.name).groups()
    return mine.with_name(mine.name.replace(f"-{pid}-{start}-", f"-{2**22 + 1}-{start}-"))
