"""Play and tune game engines (Go, chess, shogi) from one control file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from ringmaster.results import Results

__version__ = "0.1.0"
__all__ = ["load"]


def load(path: str | os.PathLike[str], *, safe: bool = False) -> Results:
    """Return the results of a control file's competition; see `ringmaster.results`.

    A run may be in progress; nothing is written.  The control file is executed; with `safe` it is
    evaluated within bounds.  Raises RingmasterError.
    """
    # the command starts quickly since imports happen at first use
    from ringmaster import results

    return results.load(path, safe=safe)
