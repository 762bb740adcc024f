"""Jobs: what a competition asks a worker to do.  Frozen data that crosses
process boundaries as JSON; a job holds all that is needed to carry it out."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ringmaster.model.players import GameName, Player

Handicap = Literal["fixed", "free"]
Scorer = Literal["players", "internal"]
Compensation = Literal["no", "full", "short"]
KoRule = Literal["simple", "positional", "situational"]
Scoring = Literal["area", "territory"]

#: What a competition remembers of a job it issued: small JSON, stored with the
#: issue, enough (with the settings) to make the same job again.
Ticket = dict[str, Any]


class Opening(msgspec.Struct, frozen=True):
    """A start position: `fen` (None: the game's own), then `moves` played from it.

    source names where it came from ("book.epd:17"), for records and errors.
    """

    fen: str | None = None
    moves: tuple[str, ...] = ()
    source: str = ""


class GameSettings(msgspec.Struct, frozen=True):
    """How one game is played.  Go settings mean nothing to chess and vice versa.

    move_limit    plies; 0 means none.  At the limit a Go game has an unknown
                  result (Gomill), a chess game is a draw
    margin        seconds an engine may overstep its clock or move time
    hang_timeout  seconds an engine may take for a move under any other limit,
                  and for any command that is not a move
    scoring       how the internal scorer counts
    ko_rule, suicide  what the referee of Go forbids beside the simple ko
    cleanup       whether play goes on after two passes, until dead stones are off
    """

    game: GameName
    board_size: int = 19
    komi: float = 0.0
    handicap: int | None = None
    handicap_style: Handicap = "fixed"
    scorer: Scorer = "players"
    internal_scorer_handicap_compensation: Compensation = "full"
    move_limit: int = 1000
    margin: float = 0.05
    hang_timeout: float = 60.0
    scoring: Scoring = "area"
    ko_rule: KoRule = "simple"
    suicide: bool = True
    cleanup: bool = False


class GameJob(msgspec.Struct, frozen=True, tag="game"):
    """One game to play.

    id       unique in the competition, e.g. "0_012"; used in file names
    attempt  0, and one more each time the game was void and is replayed
    players  the player to move first comes first (Black in Go and shogi,
             White in chess)
    ticket   what the competition wants back with the result
    event    competition code, for the record
    record   whether to make a game record
    transcript  path of the protocol transcript to write, or None
    keep_stderr whether the engines' standard error comes back with the result
    parameters  per player, the parameter values it plays with, for the record
    """

    id: str
    players: tuple[Player, Player]
    settings: GameSettings
    ticket: Ticket = {}
    attempt: int = 0
    opening: Opening = Opening()
    event: str = ""
    record: bool = True
    transcript: str | None = None
    keep_stderr: bool = True
    parameters: tuple[dict[str, Any], dict[str, Any]] = ({}, {})


class CheckJob(msgspec.Struct, frozen=True, tag="check"):
    """A startup check: launch `player`, shake hands, set everything up."""

    id: str
    player: Player
    settings: GameSettings
    show_stderr: bool = False
    transcript: str | None = None


Job = GameJob | CheckJob
