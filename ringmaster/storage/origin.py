"""Recognise by its content the program that wrote a file beside a control file.

Gomill gives its files the names that ringmaster uses.  Its status file is a pickle, which
could run code: no file is loaded here, only the first bytes are compared.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Literal

from ringmaster.errors import StoreUnwritable

Maker = Literal["ringmaster", "Gomill", "another program"]

#: Marks a SQLite file as ringmaster's ("RMST").
APPLICATION_ID: Final = 0x524D5354
SQLITE_MAGIC: Final = b"SQLite format 3\0"

#: Bytes read of each file.
_HEAD: Final = 1 << 16

# The files of Gomill 0.8.3.  A report of a tournament begins as ringmaster's does, but it
# ends with an empty line.
_GOMILL: Final = re.compile(
    rb"run started at \d"  # .log
    rb"|(?:MCTS|CEM) tuning event: "  # .report
    rb"|(?:playoff|allplayall): [^\n]*\n(?s:.*)\n\n\Z"
    rb"| *\S+_\d+ \S+ (?:beat|vs) "  # .hist of a tournament, of mc_tuner, of ce_tuner
    rb"|[^\n]* \[\([0-9, ()]*\)\] (?:won|lost)\n"
    rb"|Generation \d+\nDistribution\n"
    rb"|\(;FF\[4\]AP\[gomill:"  # a game record
    rb"|(?:>>|<<) [^\n:]*: "  # a transcript
)
_RINGMASTER: Final = re.compile(
    rb"(?:stop\n)?\Z"  # .cmd (Gomill's has no line end), and any file that is empty
    rb"|RMPOS\x00|RMFEA\x00"  # .positions, .features
    rb"|(?:playoff|allplayall|gauntlet|swiss|mc_tuner|ce_tuner|spsa|texel): [^\n]*\n"  # .report
    rb'|\{"games":'  # .tree.jsonl
    rb"|\(;FF\[4\][^\n]*\nAP\[ringmaster:"
    rb"| +\d+\.\d{4} \S+ [<>!] "
    rb"|<!DOCTYPE html>\n(?s:.{,200})default-src 'none'; style-src 'unsafe-inline'"
)
_LOG_LINE: Final = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S")
#: Pieces of Gomill's pickles, which are of protocol 2.
_PICKLED: Final = (b"void_game_count", b"comp_vn", b"gomill.")


def maker(path: Path) -> Maker | None:
    """Return which program wrote a file, None when its content does not say.

    Raises StoreUnwritable when the file cannot be read.
    """
    head = _head(path)
    if head.startswith(b"\x80") and any(piece in head for piece in _PICKLED):
        return "Gomill"
    if head.startswith(SQLITE_MAGIC):
        application = int.from_bytes(head[68:72], "big")
        if application:
            return "ringmaster" if application == APPLICATION_ID else "another program"
        return None  # ringmaster's number may still be in the `-wal`
    if _GOMILL.match(head):
        return "Gomill"
    if _LOG_LINE.match(head) and (b"ringmaster" in head or b" startup check failed" in head):
        return "ringmaster"
    return "ringmaster" if _RINGMASTER.match(head) else None


def makers(folder: Path) -> dict[Path, Maker | None]:
    """Return which program wrote each file of a folder that Gomill may have filled: its
    records and transcripts, which end in `.sgf` and `.log`.  Others are not read."""
    found: dict[Path, Maker | None] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name
            read = entry.is_file(follow_symlinks=False) and path.suffix in (".sgf", ".log")
            found[path] = maker(path) if read else None
    return found


def _head(path: Path) -> bytes:
    """Return the beginning of a file, with its last two bytes if it is longer."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if len(head) == _HEAD:
                file.seek(-2, os.SEEK_END)
                head += file.read()
    except OSError as error:
        raise StoreUnwritable(f"cannot read {path}: {error.strerror}") from error
    return head
