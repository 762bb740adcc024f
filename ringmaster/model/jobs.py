"""Jobs for workers: frozen data that crosses process boundaries as JSON.

A job holds everything needed to run it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import msgspec

from ringmaster.model.go_rules import Rules
from ringmaster.model.players import GameName, OptionValue, Player


class DrawAdjudication(msgspec.Struct, frozen=True):
    """A draw by scores: within `score` centipawns of 0 for `move_count` moves of each player
    in a row, after `move_number` full moves.

    winrate  in Go, instead of `score`: largest distance from one half
    """

    move_number: int = 40
    move_count: int = 8
    score: int = 10
    winrate: float | None = None


class ResignAdjudication(msgspec.Struct, frozen=True):
    """A loss by scores: `score` centipawns or more below 0 for `move_count` moves in a row.

    two_sided  whether the opponent's scores must be as far above 0 for as long
    winrate    in Go, instead of `score`: the loser's largest
    """

    move_count: int = 3
    score: int = 600
    two_sided: bool = False
    winrate: float | None = None


class Tablebases(msgspec.Struct, frozen=True):
    """Syzygy tablebases that end a chess game with a known result.

    paths    absolute folders
    pieces   most pieces on the board, None: as many as the files have
    ignore_50_moves  whether a win counts although the 50-move rule makes it a draw
    """

    paths: tuple[str, ...]
    pieces: int | None = None
    ignore_50_moves: bool = False


Handicap = Literal["fixed", "free"]
Scorer = Literal["players", "internal", "referee"]
EnteringKing = Literal["27", "24", "trial", "none"]
Failures = Literal["void", "loss"]
Apply = Literal["live", "newgame", "restart"]

#: Small JSON data of an issued job; with the settings it makes the same job again.
#: The store keeps tickets, so the keys stay as they are.  Each competition type has its own:
#:
#: all games        o  source of the opening, if any
#: tournaments      m  id of the matchup          i  number of the game in it
#:                  b  index (0, 1) in the tally of the player that moves first
#:                  p  number of the pair, None without pairs
#:                  n  number of the opening, if it is not the usual one of the pair
#:                  h  name of the level of the handicap ladder, if any
#: spsa             k  iteration                  g  number of the game in it
#:                  p, m  played values of the plus and the minus side
#:                  n  games of the iteration, 2 without it
#:                  l  index of the layout of the values, 0 without it
#:                  r  code of the opponent, if the sides play opponents
#: texel            e  number of the beginning     p, i  pass and shard, or n  probe,
#:                  or a, i  test of moves and its job
#: mc_tuner         n  number of the game          p  path in the tree
#:                  s  seat of the candidate       e  visits and wins of new nodes
#:                  v  engine values
#: ce_tuner         g  generation                  c  candidate       r  round
#:                  p  optimiser parameters        s  seat            v  engine values
#: optuna_tuner     t  trial                      g  number of the game in it
#:                  n  number of the pair in the tune           p  played values
#:                  a  trials finished when it was proposed     s  its sampler, if any
#:                  f  candidates refused before it             b  score to reach
#:                  r  code of the opponent, if there are several
#:                  v  values of transforms by code, if any
#: clop_tuner       n  number of the game          p  places of the sample in the ranges
#:                  s  seat of the candidate       r  code of the opponent
#:                  v  values of transforms by code, if any
#: closing match    kind  CLOSING
#:                  v  number of the match, from 1          g  number of the game in it
Ticket = dict[str, Any]


#: The kind of a ticket of a closing match; other tickets have no kind.
CLOSING = "closing"


def is_of_closing_match(ticket: Ticket) -> bool:
    """Return whether a ticket of a tune is a game of a closing match."""
    return ticket.get("kind") == CLOSING


class Opening(msgspec.Struct, frozen=True):
    """A start position, and moves from there in the protocol's notation.

    fen     SFEN in shogi; None: the game's usual position
    source  its place ("book.epd:17"), for records and errors
    name    its name in the book ("B90 Sicilian", "gote gives a lance"), or ""
    """

    fen: str | None = None
    moves: tuple[str, ...] = ()
    source: str = ""
    name: str = ""


class GameSettings(msgspec.Struct, frozen=True):
    """Rules and limits of one game; Go ignores settings of chess and vice versa.

    move_limit    plies; 0 means none
    move_limit_result  "draw" or "unknown"; None: a Go game has an unknown result
                  (Gomill), a game of chess or shogi is a draw
    margin        seconds that an engine may overstep its clock or move time, unless its
                  player has a margin
    hang_timeout  seconds for a move under any other limit, and for any other command
    rules         of Go; engines are told those that have a name
    referee       the engine that scores finished games, with `scorer` "referee"
    variant       "standard", "chess960", or another variant's name in UCI_Variant
    entering_king  rule for a king in the enemy's camp at shogi: declaration with 27 or 24
                  points, trial, or none
    failures      whether a crash, hang or breach of the protocol makes the game void, to
                  be replayed, or loses it
    record_format  "pgn", "sgf", "csa" or "kif"; None: the game's usual format
    record_info   data of each move in a record beside score, depth and time
    record_times  whether a record's comments contain the time of each move
    """

    game: GameName
    board_size: int = 19
    komi: float = 0.0
    handicap: int | None = None
    handicap_style: Handicap = "fixed"
    scorer: Scorer = "players"
    move_limit: int = 1000
    margin: float = 0.05
    hang_timeout: float = 60.0
    rules: Rules = Rules()
    referee: Player | None = None
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

    def engines(self, players: tuple[Player, ...]) -> tuple[Player, ...]:
        """Return the engines of a game: its players, and the one that scores if there is one."""
        return players if self.referee is None else (*players, self.referee)


def resources_of(players: Sequence[Player]) -> dict[str, int]:
    """Return the tokens that players need at the same time, by resource."""
    names = dict.fromkeys(name for player in players for name in player.resources)
    return {name: sum(player.resources.get(name, 0) for player in players) for name in names}


class GameJob(msgspec.Struct, frozen=True, tag="game"):
    """One game to play.

    id       unique in the competition, e.g. "0_012"; used in file names
    attempt  0, plus one for each void game before
    players  the player to move first comes first (Black in Go and shogi,
             White in chess)
    ticket   data that the competition receives again with the result
    event    for the record's tag: the competition's code, and the matchup's name if any
    competition  the competition's code, for the record
    round    number of the pair of games with one opening, from 1; for the record
    record   whether to make a game record
    transcript  path of the protocol transcript to write, or None
    transcript_of_faults  whether it is written only for a void game or a forfeit
    keep_stderr whether the result contains the engines' standard error
    parameters  per player, its parameter values, for the record
    shown_parameters  the same as text, through the formats of the control file
    series   id of its matchup, "" in a tune; repeated games are detected in a series
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
    series: str = ""

    @property
    def who(self) -> tuple[str, ...]:
        """Codes of the players, for the display."""
        return tuple(player.code for player in self.players)

    @property
    def resources(self) -> dict[str, int]:
        """Tokens that the job holds, by resource."""
        return resources_of(self.engines)

    @property
    def engines(self) -> tuple[Player, ...]:
        """The players, and the engine that scores if there is one."""
        return self.settings.engines(self.players)


class OptionChange(msgspec.Struct, frozen=True):
    """Engine options of a tuned parameter at the ends of its range.

    code  the parameter's code
    ends  options that differ from the player's, the more distant end first
    """

    code: str
    ends: tuple[dict[str, OptionValue], ...]


class CheckJob(msgspec.Struct, frozen=True, tag="check"):
    """A startup check: launch `player`, shake hands, set its options.

    thorough  whether to test the engine's protocol, too, and to play a short game
    tested_as the player whose thorough check covers the same engine, or "": only the game
              is played
    keep      whether a UCI or USI process may serve the worker's games, too
    limits    whether to test that the engine obeys the player's limits; over GTP, its analysis
    changes   tuned options whose effect is tested
    speed     seconds for which to measure the engine's nodes a second, 0 for not at all
    """

    #: Checks have none.
    transcript: ClassVar[None] = None

    id: str
    player: Player
    settings: GameSettings
    show_stderr: bool = False
    thorough: bool = False
    tested_as: str = ""
    keep: bool = False
    limits: bool = False
    changes: tuple[OptionChange, ...] = ()
    speed: float = 0.0

    @property
    def resources(self) -> dict[str, int]:
        """Tokens that the job holds, by resource."""
        return self.player.resources


class ScoreKind(msgspec.Struct, frozen=True):
    """A way to score positions with an engine.

    kind     "eval": static evaluation; "depth" or "nodes": a search of `amount`;
             "quiescence": a search of depth 0
    amount   plies or nodes
    command  of "eval": the command, None for the usual one of the engine's family
    pattern  of "eval": a regular expression; its first group is the score, the last line
             that matches counts; None for the usual one of the engine's family
    unit     of `pattern`: centipawns of a score of 1
    pov      of `pattern`: the side of the score
    """

    kind: Literal["eval", "depth", "nodes", "quiescence"] = "eval"
    amount: int = 0
    command: str | None = None
    pattern: str | None = None
    unit: float = 1.0
    pov: Literal["first", "mover"] = "mover"

    @property
    def go(self) -> str | None:
        """The `go` command of the search, None without a search."""
        if self.kind == "quiescence":
            return "go depth 0"
        if self.kind != "eval":
            return f"go {self.kind} {self.amount}"
        return self.command if (self.command or "").split()[:1] == ["go"] else None


class Probe(msgspec.Struct, frozen=True):
    """Tests of an engine before a Texel tune.

    changed  per tuned parameter, the player with a large change of it alone
    apply, in_flight  the control file's settings; None: to be tested
    most_in_flight  most requests in flight to test
    """

    changed: tuple[Player, ...]
    apply: Apply | None = None
    in_flight: int | None = None
    most_in_flight: int = 64


class EvaluationJob(msgspec.Struct, frozen=True, tag="evaluation"):
    """A shard of positions to be scored by one engine.

    score_key, shard  keys of the scores in a store: of the pass, and number of the shard
    positions  path of a position file (`positions.position_file`)
    texts      the positions themselves, instead of a file's
    key        identity of the position file: it may have been replaced
    first, stop, step  range of positions
    apply      when new options take effect: at once, after ucinewgame (usinewgame), or
               only in a new process
    in_flight  requests without an answer at a time
    answers    whether the result contains the engine's answers
    probe      tests of the engine, None for an ordinary shard
    """

    id: str
    player: Player
    settings: GameSettings
    positions: str
    first: int
    stop: int
    step: int = 1
    key: str = ""
    score_key: int = 0
    shard: int = 0
    score: ScoreKind = ScoreKind()
    apply: Apply = "newgame"
    in_flight: int = 1
    answers: bool = False
    texts: tuple[str, ...] = ()
    probe: Probe | None = None
    ticket: Ticket = {}
    attempt: int = 0
    transcript: str | None = None
    transcript_of_faults: bool = False
    keep_stderr: bool = True

    @property
    def who(self) -> tuple[str, ...]:
        """Codes of the players, for the display."""
        return (self.player.code,)

    @property
    def resources(self) -> dict[str, int]:
        """Tokens that the job holds, by resource."""
        return self.player.resources


#: A job of a competition.
Task = GameJob | EvaluationJob
Job = GameJob | EvaluationJob | CheckJob


@dataclass(frozen=True)
class WorkerContext:
    """A worker's process, as the object that runs its jobs sees it.

    slot        number of the worker, from 0; a replacement has the same number
    control_fd  readable when the job must be abandoned.  Every wait during a job must
                watch it; nothing may read from it
    reaper_fd   the pipe on which engines are announced to the reaper, or None
    setup       JSON data of the executor: "workers" (their number), "error_lines"
                (descriptor for the engines' standard error), "live" (folder for records of
                games in progress), "builds" (sums of the players' files by path, for
                `model.builds.Watch`), "cpus" (of each slot), "memory" (bytes of data that a
                process may have)
    say         shows a message to the user
    """

    slot: int
    control_fd: int
    reaper_fd: int | None
    setup: Mapping[str, Any]
    say: Callable[[str], None]
