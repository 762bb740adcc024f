"""A matchup of a tournament: two players, and the settings of their games."""

from __future__ import annotations

from ringmaster.competitions.opening_settings import OpeningBook
from ringmaster.competitions.repeats import expected_repeats
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import SECOND_SELF, Player
from ringmaster.stats.sprt import Sprt


class Matchup:
    """One pairing with its settings.

    players          the first takes the first move in the games with even numbers
    alternating      whether it takes it in those only
    number_of_games  None for no limit
    sprt             a test that ends it, whether the first player is the stronger
    closed           whether no more games of it are wanted, whatever its number: the
                     round is over, or one of the two is withdrawn
    """

    closed = False

    def __init__(
        self,
        id: str,
        name: str | None,
        players: tuple[Player, Player],
        settings: GameSettings,
        book: OpeningBook,
        *,
        alternating: bool,
        number_of_games: int | None,
        sprt: Sprt | None = None,
    ) -> None:
        self.id = id
        self.players = players
        #: None where the control file gives it no name.
        self.given_name = name
        self.name = name or " v ".join(self.codes)
        self.settings = settings
        self.book = book
        self.alternating = alternating
        self.number_of_games = number_of_games
        self.sprt = sprt

    @property
    def codes(self) -> tuple[str, str]:
        """Codes of the first and the second player."""
        return self.players[0].code, self.players[1].code

    def game_id(self, number: int) -> str:
        """Return the id of a new game, as wide as the largest number of the
        matchup.  A game keeps the id it was given out with; after a change of
        `number_of_games` the ids of other games are wider or narrower, never
        the same, since they have other numbers."""
        digits = len(str(self.number_of_games - 1)) if self.number_of_games else 1
        return f"{self.id}_{number:0{digits}d}"

    def pair(self, number: int) -> int | None:
        """Return the pair that a game belongs to, None when colours are fixed."""
        return number // 2 if self.alternating else None

    @property
    def even(self) -> bool:
        """Return whether the score says how strong the players are: with a handicap,
        or Black always for one side, it does not."""
        return self.alternating and self.settings.handicap is None

    def expected_repeats(self) -> str:
        """Return the warning that its games will repeat, "" when they need not."""
        first, second = map(base_code, self.codes)
        colours = 2 if self.alternating and first != second else 1
        return expected_repeats(self.players, self.book.size, self.number_of_games, colours)


def base_code(code: str) -> str:
    """Return the code of a player of the control file, also of its second self."""
    return code.removesuffix(SECOND_SELF)
