"""The stored state of an optuna_tuner: its trials with their results.

The order of events is stored by two numbers of each trial: `after`, the number of trials that
had ended when it was proposed, and `place` among the ended ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ringmaster.competitions.tournaments.matchup import Pairs
from ringmaster.competitions.tuning.game_tune import GameTuneState
from ringmaster.tuners.search.optuna_study import Asked, SamplerName, Told
from ringmaster.tuners.search.surrogate import Observation


class Trial(msgspec.Struct, omit_defaults=True):
    """A candidate with its results.

    values    in the order of the parameters; None for one that does not exist
    after     trials that had ended when it was proposed
    sampler   None for the start values
    refused   candidates that the constraint refused before it
    reference score that the best trial was estimated to have when it was proposed, None without
              one
    issued    issued games
    pair      number of its latest pair in the tune
    pairs     its results by pairs
    place     its place in the order of ended trials, None before its end
    hopeless  whether it was ended early
    known     its score if it does not play, else None
    """

    values: list[int | float | None]
    after: int = 0
    sampler: SamplerName | None = None
    refused: int = 0
    reference: float | None = None
    issued: int = 0
    pair: int = 0
    pairs: Pairs = msgspec.field(default_factory=Pairs)
    place: int | None = None
    hopeless: bool = False
    known: float | None = None

    @property
    def games(self) -> int:
        """Counted games."""
        return self.pairs.games

    @property
    def score(self) -> float:
        """The mean score of complete pairs, ½ without one."""
        if self.known is not None:
            return self.known
        pairs = sum(self.pairs.counts)
        return sum(i * n for i, n in enumerate(self.pairs.counts)) / (4 * pairs) if pairs else 0.5

    def observation(self) -> Observation:
        """Return its results."""
        counts = () if self.known is not None else tuple(self.pairs.counts)
        return Observation(tuple(self.values), self.score, counts)

    def wants_game(self, games: int) -> bool:
        """Return whether to issue another game.

        games  of a trial that is not ended early
        """
        if self.hopeless or self.issued >= games:
            return self.issued % 2 == 1
        return self.place is None


class OptunaState(GameTuneState):
    """The state of a tune.

    codes    of the parameters
    trials   by number
    ended    number of ended trials
    pairs    number of pairs with an issued game
    results  wins, draws and losses of candidates
    against  the same by opponent, if there are several
    """

    codes: list[str]
    trials: dict[int, Trial]
    ended: int = 0
    pairs: int = 0
    results: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    against: dict[str, list[int]] = msgspec.field(default_factory=dict)

    @property
    def games(self) -> int:
        """Number of games of the tune that count."""
        return sum(self.results)

    def in_order_of_end(self) -> list[tuple[int, Trial]]:
        """Return the ended trials with their numbers."""
        ended = [(n, t) for n, t in self.trials.items() if t.place is not None]
        return sorted(ended, key=lambda item: item[1].place or 0)

    def events(self) -> Iterable[Asked | Told]:
        """Yield proposals and scores in their order."""
        ends = self.in_order_of_end()
        told = 0
        for number, trial in sorted(self.trials.items()):
            for ended, other in ends[told : trial.after]:
                yield Told(ended, other.score)
            told = max(told, trial.after)
            yield Asked(number, trial.values, trial.sampler, trial.refused)
        for ended, other in ends[told:]:
            yield Told(ended, other.score)
