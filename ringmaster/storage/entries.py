"""Entries of a store: runs, issued jobs, results and game records, and their JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.model.jobs import Ticket
from ringmaster.model.results import EvaluationResult, GameResult

#: Plain names of files.
_FILE_NAME = re.compile(r"[A-Za-z0-9!#$%&*+\-:;<=>?^_~][A-Za-z0-9!#$%&*+\-.:;<=>?^_~]{0,199}")

decode = msgspec.json.decode
_encode = msgspec.json.encode


class IssuedJob(msgspec.Struct, frozen=True):
    """An issued job without a recorded result."""

    game_id: str
    attempt: int
    ticket: Ticket


class StoredGame(msgspec.Struct, frozen=True):
    """The recorded result of a game, without record and standard error.

    seq       counts from 1 in order of recording, void results included
    finished  whole seconds since the epoch
    """

    seq: int
    ticket: Ticket
    result: GameResult
    finished: float


class StoredShard(msgspec.Struct, frozen=True):
    """The recorded result of a shard, without scores, answers and standard error."""

    seq: int
    ticket: Ticket
    result: EvaluationResult
    finished: float


class RunEntry(msgspec.Struct, frozen=True):
    """One run of the competition.

    started, ended  seconds since the epoch (ended None: running or killed)
    settings        the interpreted settings as JSON data, by name
    """

    number: int
    started: float
    version: str
    source: str
    source_hash: str
    settings: dict[str, Any]
    parallel: int = 1
    ended: float | None = None
    end_reason: str = ""


class PendingRecord(msgspec.Struct, frozen=True):
    """A game record without a file.

    folder  name of the folder of records
    name    of the game's own file
    number  the store's, rising in order of recording
    """

    folder: str
    name: str
    text: str
    number: int = 0


def encode(value: Any) -> str:
    """Return a value as JSON text."""
    return _encode(value).decode()


def clean(text: str) -> str:
    """Replace lone surrogates, which engines' text may hold and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def file_name(name: str) -> str:
    """Return a name that is a plain file name; it may come from a stranger's status file.

    Raises ValueError.
    """
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a game or its record")
    return name


def pending_record(status: Path, number: int, folder: str, name: str, text: str) -> PendingRecord:
    """Return a stored game record, for the folder of this status file.  Raises ValueError."""
    suffix = Path(folder).suffix
    if suffix not in (".games", ".void"):
        raise ValueError(f"{folder!r} cannot be a folder of game records")
    folder = status.with_suffix(suffix).name
    return PendingRecord(folder, file_name(name), text, number)
