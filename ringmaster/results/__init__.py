"""Read the results of a competition from its status file: games, matchups, players, candidates.

`ringmaster.load` returns a `Results`; exports are made from it.
"""

from ringmaster.results.games import Game, Side
from ringmaster.results.matchups import ColourResults, MatchupResults, PlayerResults
from ringmaster.results.results import PlayerInfo, Results, RunInfo, load
from ringmaster.results.tables import Table

__all__ = [
    "ColourResults",
    "Game",
    "MatchupResults",
    "PlayerInfo",
    "PlayerResults",
    "Results",
    "RunInfo",
    "Side",
    "Table",
    "load",
]
