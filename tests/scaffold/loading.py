"""Loading the text of a control file."""

from __future__ import annotations

from pathlib import Path

from ringmaster.event import Event


def event_of(text: str, folder: Path, name: str = "made.ctl") -> Event:
    """Write a control file and load it."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return Event(path)
