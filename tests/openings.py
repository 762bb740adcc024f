"""Read whole opening files as a competition does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ringmaster.competitions.opening_settings import OpeningBook, OpeningsSettings
from ringmaster.model.jobs import GameSettings, Opening


def opened(
    path: Path | str, game: str = "chess", notices: list[str] | None = None, **arguments: Any
) -> OpeningBook:
    """Return the book of a file, verified.  Raises DataFileError.

    notices    gets what a user reads
    arguments  of `OpeningsSettings` and `GameSettings`
    """
    fields = OpeningsSettings.__struct_fields__
    own = {name: value for name, value in arguments.items() if name in fields}
    rules = {name: value for name, value in arguments.items() if name not in fields}
    settings = OpeningsSettings(str(path), **own)
    book = OpeningBook(settings, GameSettings(game, **rules), seed=0)  # type: ignore[arg-type]
    for checks in book.load((notices if notices is not None else []).append):
        for _ in checks:
            pass
    return book


def load_openings(path: Path | str, game: str = "chess", **arguments: Any) -> tuple[Opening, ...]:
    """Return the openings of a list, in order.  Raises DataFileError."""
    book = opened(path, game, **arguments)
    assert book.size is not None
    return tuple(map(book.pick, range(book.size)))
