"""What a game record is made from, before it has a format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.time_control import TimeControl


class MoveRecord(msgspec.Struct, frozen=True, gc=False):
    """One move as it was played.

    player   index of who played it
    seconds  charged to the mover; None when nobody was (handicap, opening)
    score    centipawns from the mover's side, or None
    mate     moves to mate (negative: being mated), or None
    seldepth, nps, hashfull (per mille), tbhits  as the engine gave them, or None
    pv       the line it expects, in the protocol's notation, this move first
    comment  the engine's own words, UTF-8, possibly several lines
    left     seconds on the mover's clock after the move, of the base time or of
             the period; None where no clock ran
    overtime stones or periods left, None in the base time
    """

    move: str
    player: int
    seconds: float | None = None
    score: int | None = None
    mate: int | None = None
    depth: int | None = None
    nodes: int | None = None
    seldepth: int | None = None
    nps: int | None = None
    hashfull: int | None = None
    tbhits: int | None = None
    pv: tuple[str, ...] = ()
    comment: str = ""
    left: float | None = None
    overtime: int | None = None


@dataclass(frozen=True, slots=True)
class GameRecord:
    """A finished game.

    names     as the record should call the players, codes as the control file does
    date      "YYYY-MM-DD", local time, of the start
    score     as in GameResult.score; reason and detail likewise
    setup     handicap stones (GTP vertices) placed before the first move
    descriptions  per player, what the engine says of its configuration
    notes     further lines (final_score answers, void reasons)
    parameters    per player, the values it was given by a tuner
    shown_parameters  the same as text, through the formats of the control file
    competition   code of the competition
    round         number of the pair of games with one opening, from 1; 0 if unknown
    time_controls per player, all its limits in words; clocks the clock among them
    started   seconds since the epoch, None if unknown; seconds the game took
    """

    game_id: str
    event: str
    date: str
    codes: tuple[str, str]
    names: tuple[str, str]
    settings: GameSettings
    opening: Opening
    moves: tuple[MoveRecord, ...]
    score: str
    reason: str
    detail: str = ""
    setup: tuple[str, ...] = ()
    descriptions: tuple[str, str] = ("", "")
    notes: tuple[str, ...] = ()
    parameters: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    shown_parameters: tuple[str, str] = ("", "")
    competition: str = ""
    round: int = 0
    time_controls: tuple[str, str] = ("", "")
    clocks: tuple[TimeControl | None, TimeControl | None] = (None, None)
    started: float | None = None
    seconds: float = 0.0
    cpu_times: tuple[float | None, float | None] = (None, None)
