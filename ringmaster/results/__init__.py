"""The results of a competition as data, read from its status file: games,
matchups, players, candidates.  What `ringmaster.load` returns, and what exports
are made from; nothing here writes."""

from ringmaster.results.games import Game, Side
from ringmaster.results.matchups import ColourResults, MatchupResults, PlayerResults
from ringmaster.results.results import PlayerInfo, Results, RunInfo, load

__all__ = [
    "ColourResults",
    "Game",
    "MatchupResults",
    "PlayerInfo",
    "PlayerResults",
    "Results",
    "RunInfo",
    "Side",
    "load",
]
