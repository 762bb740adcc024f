"""Openings(…) of a control file, and the opening book of a competition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from ringmaster.competitions.setting_types import flag, one_of, optional
from ringmaster.errors import SettingError
from ringmaster.formats.registry import FORMATS
from ringmaster.games.game import game_rules
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import GameName
from ringmaster.model.randomness import OPENINGS_STREAM, words
from ringmaster.model.settings import CallOf, FileName, Integer, OneOf, Setting

#: Start positions of Chess960.
POSITIONS = 960

Order = Literal["sequential", "random"]


class OpeningsSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Openings(…) of a control file; path is absolute."""

    path: str
    format: str | None = None
    order: Order = "sequential"
    start: int = 1
    plies: int | None = None
    seed: int | None = None
    policy: Literal["round", "encounter"] = "round"
    skip_bad: bool = False


def describe_openings(openings: OpeningsSettings | None) -> dict[str, Any]:
    """Return the file's name without its folder, and arguments other than the defaults."""
    if openings is None:
        return {}
    data = msgspec.to_builtins(openings)
    return {"file": Path(data.pop("path")).name, **data}


OPENINGS = CallOf(
    "Openings",
    (
        Setting("path", FileName(), "The file with the openings."),
        optional(
            "format",
            OneOf(*FORMATS),
            "Format of the file; by default recognised by its suffix and first lines.",
        ),
        one_of(
            "order",
            ("sequential", "random"),
            "The file's order, or a new shuffle for each pass over the file.  Lines of a "
            "book of Polyglot or YaneuraOu are always drawn at random.",
        ),
        Setting("start", Integer(minimum=1), "Number of the first opening, from 1.", 1),
        optional(
            "plies",
            Integer(minimum=1, maximum=1000),
            "Moves to play from each line, counting both sides; by default all, or 16 from a "
            "book of Polyglot or YaneuraOu.",
        ),
        optional("seed", Integer(), "Seed of the random order; by default the competition's."),
        one_of(
            "policy",
            ("round", "encounter"),
            "In a tournament: the same opening for a round's pairs in all matchups, or the next "
            "opening of the book for each pair of games.",
        ),
        flag(
            "skip_bad",
            "Leave out bad lines and games, and count them, instead of refusing the file.",
        ),
    ),
    lambda values, context: OpeningsSettings(**values),
    positional=("path",),
)


def check_openings(
    openings: OpeningsSettings | None, game: GameName, variant: str, handicap: int | None = None
) -> None:
    """Check openings against the game.  Raises SettingError."""
    if openings is None:
        return
    if handicap is not None:
        raise SettingError(
            ("openings",),
            "openings begin from the empty board, but 'handicap' places stones",
            "one of the two",
        )
    reason = openings.format and FORMATS[openings.format].refusal(game, variant)
    if reason:
        known = (repr(f.name) for f in FORMATS.values() if not f.refusal(game, variant))
        raise SettingError(("openings", "format"), reason, " or ".join(known))


#: Warnings about missing openings, in a tournament and in a tune.
SAME_GAMES = (
    "without openings, deterministic engines play the same game again and again; set `openings`"
)
SAME_GAMES_OF_TUNE = "without openings, the games of a tune are all much the same"


class OpeningBook:
    """The start positions of a competition, indexed before the first game.

    Without openings, Chess960 uses its 960 positions.
    """

    def __init__(self, settings: OpeningsSettings | None, game: GameSettings, seed: int) -> None:
        self._settings = settings
        self._game = game
        self._seed = seed if settings is None or settings.seed is None else settings.seed
        #: Number of openings; None before loading, and for a book of Polyglot or YaneuraOu.
        self.size: int | None = None
        #: A function from a pair's number to its opening, None before loading.
        self._opening: Callable[[int], Opening] | None = None

    def load(self, say: Callable[[str], None]) -> list[Iterator[int]]:
        """Index the file; verify its openings if they are few.

        say  gets reports of progress and notices, also later ones

        Return the verification of the other openings, for `Competition.unverified`.
        Raises DataFileError.
        """
        settings = self._settings
        if self._opening is not None or not self.has_positions:
            return []
        if settings is None:
            self._opening = self._chess960()
            return []
        from ringmaster.formats.openings.index import OpeningFile
        from ringmaster.formats.registry import format_of
        from ringmaster.formats.source import Source

        game = self._game
        source = Source(settings.path, game.game, game.variant, skip_bad=settings.skip_bad)
        source.board_size = game.board_size
        source.remedy = "skip_bad=True in Openings(…) leaves bad openings out and counts them"
        format = format_of(source, settings.format, labelled=False)
        if format.kind == "book":
            from ringmaster.formats.openings.books import Walks

            walks = Walks(source, format, game_rules(game), settings.plies, self._seed)
            self._opening = lambda number: walks.opening(settings.start - 1 + number)
            return []
        file = OpeningFile(source, format, game_rules(game), settings.plies, say)
        self.size = len(file)
        order = opening_order(len(file), settings.order, seed=self._seed, start=settings.start)
        self._opening = lambda number: file.opening(order(number))
        return [] if file.is_verified else [file.verify()]

    def _chess960(self) -> Callable[[int], Opening]:
        from ringmaster.games.chess import start_fen

        self.size = POSITIONS
        order = opening_order(POSITIONS, "random", seed=self._seed)

        def opening(number: int) -> Opening:
            position = order(number)
            return Opening(fen=start_fen(position), source=f"chess960:{position}")

        return opening

    def describe(self) -> dict[str, Any]:
        """Return the source of the start positions; {} for the game's own position."""
        if self._settings is None and self.has_positions:
            return {"file": f"the {POSITIONS} positions of Chess960"}
        return describe_openings(self._settings)

    @property
    def by_encounter(self) -> bool:
        """Return whether each pair of games of a tournament has its own opening."""
        return self._settings is not None and self._settings.policy == "encounter"

    def lacks_openings(self, repeats: int = 0) -> bool:
        """Return whether openings are needed, after a number of repeated games.

        Engines of chess and shogi repeat their moves from the same position; engines of Go
        seldom do.
        """
        return not self.has_positions and (self._game.game != "go" or repeats > 0)

    @property
    def has_positions(self) -> bool:
        """Return whether games have start positions other than the game's usual one."""
        return self._settings is not None or self._game.variant == "chess960"

    def pick(self, number: int) -> Opening:
        """Return the opening of the `number`-th pair (from 0).  Raises DataFileError."""
        if not self.has_positions:
            return Opening()
        if self._opening is None:
            self.load(lambda line: None)
        assert self._opening is not None
        return self._opening(number)


def opening_order(
    count: int, order: Order = "sequential", seed: int = 0, start: int = 1
) -> Callable[[int], int]:
    """Return the function from a colour-swapped pair's number to its opening, both from 0.

    "sequential" repeats the order of the book's `count` openings.  "random" uses a new
    permutation in each pass.  Pass k depends on (seed, k) only, so that any pair's opening can
    be computed alone.

    start  the first place of the order that is used, from 1; it may exceed `count`
    """
    # two, since games of two passes can be in progress
    permutation = lru_cache(maxsize=2)(partial(_permutation, count, seed))

    def opening(pair_number: int) -> int:
        passed, place = divmod(start - 1 + pair_number, count)
        return permutation(passed)[place] if order == "random" else place

    return opening


def _permutation(count: int, seed: int, number: int) -> list[int]:
    """Return pass `number` over range(count) by Fisher and Yates's shuffle.

    The upper half of a 64-bit word times i selects one of i, with a bias below i / 2**64.
    """
    order = list(range(count))
    drawn = words(seed, OPENINGS_STREAM, number, count - 1)
    for i, word in zip(range(count, 1, -1), drawn, strict=True):
        j = word * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order
