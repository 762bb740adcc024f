"""Jobs: what a competition asks a worker to do.  Frozen data that crosses
process boundaries as JSON; a job holds all that is needed to carry it out."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ringmaster.model.adjudication import DrawAdjudication, ResignAdjudication, Tablebases
from ringmaster.model.players import GameName, Player

Handicap = Literal["fixed", "free"]
Scorer = Literal["players", "internal"]
Compensation = Literal["no", "full", "short"]
KoRule = Literal["simple", "positional", "situational"]
Scoring = Literal["area", "territory"]
EnteringKing = Literal["27", "24", "trial", "none"]
Failures = Literal["void", "loss"]
Apply = Literal["live", "newgame", "restart"]

#: What a competition remembers of a job it issued: small JSON, stored with the
#: issue, enough (with the settings) to make the same job again.
Ticket = dict[str, Any]


class Opening(msgspec.Struct, frozen=True):
    """A start position: `fen` (SFEN in shogi; None: the game's own), then `moves`
    played from it, in the protocol's notation.

    source names where it came from ("book.epd:17"), for records and errors; name
    is what the book calls it ("B90 Sicilian", "gote gives a lance"), or "".
    """

    fen: str | None = None
    moves: tuple[str, ...] = ()
    source: str = ""
    name: str = ""


class GameSettings(msgspec.Struct, frozen=True):
    """How one game is played.  Go settings mean nothing to chess and vice versa.

    move_limit    plies; 0 means none
    move_limit_result  "draw" or "unknown"; None: a Go game has an unknown result
                  (Gomill), a game of chess or shogi is a draw
    margin        seconds an engine may overstep its clock or move time, where its
                  player says nothing else
    hang_timeout  seconds an engine may take for a move under any other limit,
                  and for any command that is not a move
    scoring       how the internal scorer counts
    ko_rule, suicide  what the referee of Go forbids beside the simple ko
    cleanup       whether play goes on after two passes, until dead stones are off
    variant       "standard", "chess960", or another variant of chess by the name
                  that UCI_Variant has for it
    entering_king  how a king that has entered the enemy's camp wins at shogi: by
                  declaration with 27 or 24 points, by trial, or not
    failures      whether a crash, hang or breach of the protocol makes the game
                  void, to be played again, or loses it
    record_format  "pgn", "sgf", "csa" or "kif"; None: the game's usual one
    record_info   what a record says of each move beside score, depth and time
    record_times  whether a record's comments give the time of each move
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
    variant: str = "standard"
    entering_king: EnteringKing = "27"
    move_limit_result: Literal["draw", "unknown"] | None = None
    draw_adjudication: DrawAdjudication | None = None
    resign_adjudication: ResignAdjudication | None = None
    tablebases: Tablebases | None = None
    failures: Failures = "void"
    record_format: str | None = None
    record_info: tuple[str, ...] = ()
    record_times: bool = True


class GameJob(msgspec.Struct, frozen=True, tag="game"):
    """One game to play.

    id       unique in the competition, e.g. "0_012"; used in file names
    attempt  0, and one more each time the game was void and is replayed
    players  the player to move first comes first (Black in Go and shogi,
             White in chess)
    ticket   what the competition wants back with the result
    event    name of the event, for the record: the competition's code, and the matchup's
             name where it has one
    competition  the competition's code, for the record
    round    number of the pair of games with one opening, from 1; for the record
    record   whether to make a game record
    transcript  path of the protocol transcript to write, or None
    transcript_of_faults  whether it is written only when the game was void or a forfeit
    keep_stderr whether the engines' standard error comes back with the result
    parameters  per player, the parameter values it plays with, for the record
    shown_parameters  the same as text, through the formats of the control file
    """

    id: str
    players: tuple[Player, Player]
    settings: GameSettings
    ticket: Ticket = {}
    attempt: int = 0
    opening: Opening = Opening()
    event: str = ""
    competition: str = ""
    round: int = 0
    record: bool = True
    transcript: str | None = None
    transcript_of_faults: bool = False
    keep_stderr: bool = True
    parameters: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    shown_parameters: tuple[str, str] = ("", "")

    @property
    def who(self) -> tuple[str, ...]:
        """Who is at it, for the display."""
        return tuple(player.code for player in self.players)


class CheckJob(msgspec.Struct, frozen=True, tag="check"):
    """A startup check: launch `player`, shake hands, set everything up.

    thorough  whether to test, too, how well the engine keeps to its protocol
    """

    id: str
    player: Player
    settings: GameSettings
    show_stderr: bool = False
    transcript: str | None = None
    thorough: bool = False


class ScoreKind(msgspec.Struct, frozen=True):
    """How a position is scored by an engine.

    kind     "eval": its static evaluation, by the command that its family has for it;
             "depth" or "nodes": a search of `amount`; "quiescence": a search of depth 0,
             for engines that know one
    amount   plies or nodes
    command  of "eval": the command, None for the family's own
    pattern  of "eval": a regular expression whose first group is the score, searched in
             each line of the answer (the last that matches counts), None for the
             family's own
    unit     of `pattern`: centipawns that 1 is
    pov      of `pattern`: whose side it is from
    """

    kind: Literal["eval", "depth", "nodes", "quiescence"] = "eval"
    amount: int = 0
    command: str | None = None
    pattern: str | None = None
    unit: float = 1.0
    pov: Literal["first", "mover"] = "mover"


class Probe(msgspec.Struct, frozen=True):
    """What a probe is to find out of an engine, beside whether it can be used at all.

    changed  per tuned parameter, the player with a large change of it alone
    apply, in_flight  None: to be found out; else what the control file says
    most_in_flight  the most that is tried
    """

    changed: tuple[Player, ...]
    apply: Apply | None = None
    in_flight: int | None = None
    most_in_flight: int = 64


class EvaluationJob(msgspec.Struct, frozen=True, tag="evaluation"):
    """A shard of positions to be scored by one engine.

    number, shard  of the pass, and of the shard in it: where the scores are kept
    positions  path of a position file (`positions.position_file`)
    key        which it has to be: another may have been put in its place
    first, stop, step  which of its positions, as of range()
    apply      when the engine takes new options: at once, after ucinewgame (usinewgame),
               or in a new process only
    in_flight  requests that may be sent before their answers have come
    answers    whether what the engine said is wanted, too
    probe      what to find out, None for an ordinary shard
    """

    id: str
    player: Player
    settings: GameSettings
    positions: str
    first: int
    stop: int
    step: int = 1
    key: str = ""
    number: int = 0
    shard: int = 0
    score: ScoreKind = ScoreKind()
    apply: Apply = "newgame"
    in_flight: int = 1
    answers: bool = False
    probe: Probe | None = None
    ticket: Ticket = {}
    attempt: int = 0
    transcript: str | None = None
    transcript_of_faults: bool = False
    keep_stderr: bool = True

    @property
    def who(self) -> tuple[str, ...]:
        """Who is at it, for the display."""
        return (self.player.code,)


#: What a competition gives out.
Task = GameJob | EvaluationJob
Job = GameJob | EvaluationJob | CheckJob
