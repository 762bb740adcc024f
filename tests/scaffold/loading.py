"""Load the text of a control file."""

from __future__ import annotations

from pathlib import Path

from ringmaster.loaded_competition import LoadedCompetition


def event_of(text: str, folder: Path, name: str = "made.ctl") -> LoadedCompetition:
    """Write a control file and load it."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return LoadedCompetition(path)
