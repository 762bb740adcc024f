"""One game for a board on a page: start position, moves, clocks and scores, as JSON data.

`msgspec.json.encode` of a `BoardGame` is the argument of `ringmasterBoards.mount`
(`reporting/page/static/boards/boards.js`).  Fields with their default are left out.
"""

from __future__ import annotations

import msgspec

from ringmaster.model.players import GameName

#: Score of a mate, less its distance in moves: +M5 is 99,995, -M3 is -99,997.
MATE = 100_000


class BoardGame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A game, finished or in progress.  Both players are in move order.

    number     place in the order of recording, from 1; 0 for a game in progress
    id         of the game
    game       "chess" (the first player is White), "shogi" or "go" (Black)
    players    codes;  names  of the engines with their versions, "" unknown
    result     "1-0", "0-1", "1/2-1/2", "*", "B+3.5", "W+R", …
    reason     "mate", "time", …;  detail  one line about it, or ""
    winner     0 or 1, None for none
    variant    of chess: "standard", "chess960", …
    matchup    id of its matchup, or ""
    opening    name of the opening, or ""
    date       "YYYY-MM-DD", or ""
    time_control  of both players in words, equal ones once: ("10+0.1",)
    start      FEN or SFEN; "" for the usual position, and in Go
    size, komi, setup  of Go: lines, points, vertices of handicap stones ("D4 Q16")
    first      index of the player that moves first from the start position
    moves      separated by spaces: SAN or UCI in chess, USI in shogi, GTP vertices in Go
    book       number of moves from the opening book
    ms         milliseconds charged for each move
    clocks     milliseconds left after each move
    scores     centipawns after each move from the first player's side, or mates (`MATE`);
               in Go hundredths of a percent of winrate above one half
    leads      points of the first player after each move (Go)
    depths     of the search in plies;  nodes  of the search, not on pages
    comments   of engines: (index of the move, text)
    in_progress  whether further moves will come

    The lists have one item a move, None for an unknown one; () for no known item.
    """

    number: int
    id: str
    game: GameName
    players: tuple[str, str]
    names: tuple[str, str] = ("", "")
    result: str = "*"
    reason: str = ""
    detail: str = ""
    winner: int | None = None
    variant: str = "standard"
    matchup: str = ""
    opening: str = ""
    date: str = ""
    time_control: tuple[str, ...] = ()
    start: str = ""
    size: int = 0
    komi: float = 0.0
    setup: str = ""
    first: int = 0
    moves: str = ""
    book: int = 0
    ms: tuple[int | None, ...] = ()
    clocks: tuple[int | None, ...] = ()
    scores: tuple[int | None, ...] = ()
    leads: tuple[float | None, ...] = ()
    depths: tuple[int | None, ...] = ()
    nodes: tuple[int | None, ...] = ()
    comments: tuple[tuple[int, str], ...] = ()
    in_progress: bool = False
