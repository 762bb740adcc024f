"""The closing match of a tune: its settings, its state, its games."""

from ringmaster.competitions.closing_match.match import Match
from ringmaster.competitions.closing_match.matches import ClosingMatches, Standing
from ringmaster.competitions.closing_match.report import match_id
from ringmaster.competitions.closing_match.settings import VERIFY, VerifySettings
from ringmaster.competitions.closing_match.sides import Sides

__all__ = ["VERIFY", "ClosingMatches", "Match", "Sides", "Standing", "VerifySettings", "match_id"]
