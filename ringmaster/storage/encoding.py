"""How stored data is written: JSON, and what of a result is kept.

Both stores go through here, so that a value comes back alike from either.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.model.results import EngineUsage, EvaluationResult, GameResult

decode = msgspec.json.decode
_encode = msgspec.json.encode


def encode(value: Any) -> str:
    """Return a value as JSON text."""
    return _encode(value).decode()


def kept(result: GameResult) -> GameResult:
    """Return a result as a store gives it back: without record and standard
    error, times in whole microseconds, and text that UTF-8 can hold."""
    first, second = result.usage
    return GameResult(
        game_id=result.game_id,
        attempt=result.attempt,
        outcome=result.outcome,
        winner=result.winner,
        reason=_clean(result.reason),
        detail=_clean(result.detail),
        forfeit=result.forfeit,
        score=_clean(result.score),
        faulty=result.faulty,
        plies=result.plies,
        seconds=round(result.seconds, 6),
        usage=(_kept_usage(first), _kept_usage(second)),
        fingerprint=result.fingerprint,
        repeats=result.repeats,
    )


def kept_evaluation(result: EvaluationResult) -> EvaluationResult:
    """The same for a shard of positions: without scores, answers and standard error."""
    return EvaluationResult(
        job_id=result.job_id,
        attempt=result.attempt,
        outcome=result.outcome,
        number=result.number,
        shard=result.shard,
        reason=_clean(result.reason),
        detail=_clean(result.detail),
        seconds=round(result.seconds, 6),
        positions=result.positions,
        usage=_kept_usage(result.usage),
        facts=result.facts,
    )


def _kept_usage(usage: EngineUsage) -> EngineUsage:
    # microseconds are enough, and a third of the bytes
    return EngineUsage(
        name=_clean(usage.name),
        cpu_time=_microseconds(usage.cpu_time),
        peak_memory=usage.peak_memory,
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
