"""Entries of a store: runs, issued jobs, results and game records, and their JSON."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.model.jobs import Ticket
from ringmaster.model.results import EngineUsage, EvaluationResult, GameResult

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
    """A game record without a file."""

    game_id: str
    attempt: int
    folder: str
    name: str
    text: str


class PlacedRecord(msgspec.Struct, frozen=True):
    """A game record with its place in the collected file; later places are larger."""

    place: int
    pending: PendingRecord


def encode(value: Any) -> str:
    """Return a value as JSON text."""
    return _encode(value).decode()


def storable_game(result: GameResult) -> GameResult:
    """Return a game's result as a store returns it.

    Record and standard error are dropped, times are whole microseconds, and lone
    surrogates in text are replaced.
    """
    first, second = result.usage
    return msgspec.structs.replace(
        result,
        reason=_clean(result.reason),
        detail=_clean(result.detail),
        score=_clean(result.score),
        seconds=round(result.seconds, 6),
        usage=(_stored_usage(first), _stored_usage(second)),
        record=None,
        record_suffix="",
        stderr=(),
    )


def storable_evaluation(result: EvaluationResult) -> EvaluationResult:
    """Return a shard's result as a store returns it: without scores, answers, stderr."""
    return msgspec.structs.replace(
        result,
        reason=_clean(result.reason),
        detail=_clean(result.detail),
        seconds=round(result.seconds, 6),
        usage=_stored_usage(result.usage),
        scores=None,
        answers=None,
        stderr=(),
    )


def _stored_usage(usage: EngineUsage) -> EngineUsage:
    # microseconds are enough, and a third of the bytes
    return msgspec.structs.replace(
        usage,
        name=_clean(usage.name),
        cpu_time=_microseconds(usage.cpu_time),
        thinking=round(usage.thinking, 6),
        slowest=round(usage.slowest, 6),
        description=_clean(usage.description),
        ponder_cpu_time=_microseconds(usage.ponder_cpu_time),
    )


def _microseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _clean(text: str) -> str:
    """Replace lone surrogates, which engines' text may hold and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def file_name(name: str) -> str:
    """Return a name that is a plain file name; it may come from a stranger's status file.

    Raises ValueError.
    """
    if not _FILE_NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be the name of a game or its record")
    return name


def unpacked(
    status: Path, game_id: str, attempt: int, folder: str, name: str, text: bytes
) -> PendingRecord:
    """Return a stored game record, for the folder of this status file.  Raises ValueError."""
    suffix = Path(folder).suffix
    if suffix not in (".games", ".void"):
        raise ValueError(f"{folder!r} cannot be a folder of game records")
    whole = zlib.decompress(text).decode("utf-8", "surrogatepass")
    folder = status.with_suffix(suffix).name
    return PendingRecord(file_name(game_id), attempt, folder, file_name(name), whole)


def packed(text: bytes) -> bytes:
    """Return a record's text as `zlib.decompress` reads it."""
    # Not compressed: it is deleted within a second or so, and a page more in the WAL
    # costs less.  zlib's usual 256 KiB of memory would cost most of all.
    packer = zlib.compressobj(0, zlib.DEFLATED, wbits=9, memLevel=1)
    return packer.compress(text) + packer.flush()
