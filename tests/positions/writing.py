"""Position files for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ringmaster import positions


def write_positions(
    path: Path,
    texts: Sequence[bytes],
    labels: dict[str, Any],
    held: Any = False,
    *,
    game: Any = "chess",
    key: str = "key",
    notes: Sequence[str] = (),
    piece: int = 7,
) -> None:
    """Write positions, some at a time.

    held  whether each position belongs to validation, or one value for all
    """
    held = np.broadcast_to(np.asarray(held, dtype=bool), len(texts))
    parts = [[i for i in range(len(texts)) if held[i] == part] for part in (False, True)]
    counts = (len(parts[0]), len(parts[1]))
    sizes = (sum(len(texts[i]) for i in parts[0]), sum(len(texts[i]) for i in parts[1]))
    chunks = []
    for start in range(0, len(texts), piece):
        for part, numbers in enumerate(parts):
            some = numbers[start : start + piece]
            columns = {name: np.asarray(column)[some] for name, column in labels.items()}
            chunks.append(([texts[i] for i in some], columns, bool(part)))
    facts = {"game": game, "key": key, "notes": list(notes)}
    positions.write_positions(path, facts, counts, sizes, chunks)
