"""Report data: what a competition has to say, without a layout.

Competitions build these; `reporting` turns them into text, a terminal display
or (later) a page.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Align = Literal["left", "right", "decimal"]
LEFT: Align = "left"
RIGHT: Align = "right"
Cell = str | int | float | None


class Table(msgspec.Struct, frozen=True):
    """Rows under headers.  `title` is printed above, `notes` below; a cell that
    is None prints as nothing.  A float is printed by the table's own format,
    so cells that need another precision are given as strings."""

    headers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    align: tuple[Align, ...] = ()


class Text(msgspec.Struct, frozen=True):
    """Lines of plain text."""

    lines: tuple[str, ...]


class Report(msgspec.Struct, frozen=True):
    """Blocks from top to bottom."""

    blocks: tuple[Table | Text, ...] = ()


class Progress(msgspec.Struct, frozen=True):
    """How far a competition is.

    total is None when there is no limit.  `label` names what is counted.
    """

    completed: int
    total: int | None
    label: str = "games"
    phase: str = ""
    warnings: tuple[str, ...] = ()
