"""Assumptions of forecasts, from options and from measurements of the status file, and simulated
tunes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.errors import UsageError, counted
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.players import GameName
from ringmaster.stats.elo import Z95
from ringmaster.storage.entries import StoredGame
from ringmaster.storage.store import Store
from ringmaster.tuners.simulation import (
    DRAW_MODELS,
    SHAPES,
    Shaped,
    SimulatedCourse,
    SimulatedPlayers,
    SimulatedTune,
    simulate,
)
from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.planning import uniform_loss

#: Values of an option by parameter code; the key None holds the value of other codes.
ByCode = Mapping[str | None, Any]
#: Reports the completed share, from 0 to 1.
Progress = Callable[[float], object]

DEFAULT_ELO = 2.0
#: Draw ratio of chess without measurements, as in fishtest.
_DRAWS_IN_CHESS = 0.61
#: Most recent results that are measured.
_MEASURED_RESULTS = 2000


@dataclass(frozen=True, kw_only=True)
class ForecastOptions:
    """Options of both actions.

    elo, optimum      values of --elo and --optimum
    draw_ratio        None: as measured
    penta             pairs by points of 0, ½, 1, 1½ and 2, of a match; None: as measured
    parallel          games at a time in the real run
    seconds_per_game  of `plan`; None: as measured
    replicates, elo_model, draw_model, bias  of `simulate`
    """

    elo: ByCode = field(default_factory=dict)
    optimum: ByCode = field(default_factory=dict)
    draw_ratio: float | None = None
    penta: Sequence[int] | None = None
    seed: int = 0
    parallel: int = 1
    seconds_per_game: float | None = None
    replicates: int = 100
    elo_model: str = "quadratic"
    draw_model: str = "fixed"
    bias: float = 0.0


def recent_games(loaded: LoadedCompetition) -> list[StoredGame]:
    """Return the last games of the status file without void ones.  Raises StoreError."""
    if not loaded.paths.has_results:
        return []
    with closing(Store.open_readonly(loaded.paths.status)) as store:
        games = [*store.games(max(0, sum(store.counts()) - _MEASURED_RESULTS))]
    return [game for game in games if game.result.outcome != "void"]


class Timing(NamedTuple):
    """Seconds of a game, None if unknown, with their source, and the games at a time."""

    seconds: float | None
    source: str
    parallel: int

    @classmethod
    def of(
        cls, options: ForecastOptions, played: Sequence[StoredGame], clocked: float | None = None
    ) -> Timing:
        """Return the duration by options, by played games, or the seconds `clocked`."""
        seconds, source = options.seconds_per_game, "--seconds-per-game"
        if seconds is None and played:
            seconds = fmean(game.result.seconds for game in played)
            source = f"last {counted(len(played), 'game')}"
        elif seconds is None:
            seconds, source = clocked, "estimated from the time control"
        return cls(seconds, source, options.parallel)

    def hours(self, games: float) -> float | None:
        return self.seconds and games * self.seconds / self.parallel / 3600

    def __str__(self) -> str:
        if self.seconds is None:
            return "no game has been timed yet; set --seconds-per-game to get the duration"
        return f"games of {self.seconds:.3g} s ({self.source}), {self.parallel} at a time"


@dataclass(frozen=True, eq=False)
class Forecast:
    """A tune with its assumed players.

    elo      Elo lost at half a range from the optimum, (n,)
    optimum  on the parameters' scales, (n,); None if random
    lines    the assumptions in words
    """

    options: ForecastOptions
    competition: SpsaCompetition
    timing: Timing
    elo: Array
    optimum: Array | None
    draw_ratio: float
    lines: tuple[str, ...]
    tune: SimulatedTune
    players: SimulatedPlayers

    @property
    def games(self) -> int:
        """The number of games of a whole tune."""
        return self.competition.iterations * self.tune.counting.games_per_iteration

    @property
    def elo_is_set(self) -> bool:
        """Tell whether the user gave the Elo of all parameters."""
        codes = {p.code for p in self.competition.tuned}
        return None in self.options.elo or self.options.elo.keys() >= codes

    def lost_at_start(self) -> Array:
        """Return the Elo loss at the start for a quadratic loss, (n,)."""
        space = self.tune.method.space
        if self.optimum is None:
            return uniform_loss(space, self.elo)
        return self.elo * np.square((space.start - self.optimum) / (space.width / 2))

    def simulate(
        self,
        replicates: int,
        *,
        points: Sequence[float] = (1.0,),
        progress: Progress = lambda share: None,
    ) -> SimulatedCourse:
        """Simulate tunes; points and progress as in `tuners.simulation.simulate`."""
        seed = self.options.seed
        return simulate(
            self.tune, self.players, replicates, seed=seed, points=points, progress=progress
        )


def assume(options: ForecastOptions, loaded: LoadedCompetition) -> Forecast:
    """Return the forecast of a tune by options, measurements and defaults.

    Raises UsageError, StoreError.
    """
    competition = loaded.competition
    if not isinstance(competition, SpsaCompetition):
        raise UsageError(
            "plan is for tournaments and for competition_type 'spsa', simulate for 'spsa' only; "
            f"{loaded.code} is of type {competition.type_name!r}"
        )
    if options.penta is not None:
        raise UsageError("--penta is for matches; a tune has --draw-ratio")
    played, tuner = recent_games(loaded), competition.tuner
    codes = [p.code for p in competition.tuned]
    elo, elo_text = _elo(options.elo, codes)
    optimum, place_text = _optimum(options.optimum, codes, tuner.space)
    ratio, ratio_text = assumed_draws(options.draw_ratio, competition.settings.game, played)
    values = None if optimum is None else tuner.space.values(optimum)
    try:
        model = Shaped.of(competition.tuned, elo, options.elo_model, optimum=values)
    except ValueError as error:
        raise UsageError(f"--elo-model: {error}") from None
    is_fixed = SHAPES[model.shape].fixed
    if is_fixed:
        elo_text = elo_text.replace("half a range", "100")
        place_text = "the optimum of each parameter is 0 (--elo-model)"
    if options.draw_model not in DRAW_MODELS:
        raise UsageError(
            f"--draw-model: there is no {options.draw_model!r}; choose from "
            f"{', '.join(DRAW_MODELS)}"
        )
    draws = DRAW_MODELS[options.draw_model](ratio)
    tune = SimulatedTune(
        tuner.method,
        competition.iterations,
        tuner.counting,
        tuner.rounding,
        math.ceil(options.parallel / tuner.counting.games_per_iteration),
        competition.pairing,
        tuner.estimate_rule,
    )
    return Forecast(
        options,
        competition,
        Timing.of(options, played),
        elo,
        optimum,
        ratio,
        (elo_text, place_text, ratio_text),
        tune,
        SimulatedPlayers(model, draws, options.bias, optimum is None and not is_fixed),
    )


def by_code(
    values: ByCode, codes: Sequence[str], option: str, unknown: str = "no parameter {!r} is tuned"
) -> list[Any]:
    """Return an option's value for each parameter or matchup, None if it is not set."""
    for code in values:
        if code is not None and code not in codes:
            known = ", ".join(codes)
            raise UsageError(f"{option}: {unknown.format(code)}; there are {known}")
    return [values.get(code, values.get(None)) for code in codes]


def _elo(option: ByCode, codes: list[str]) -> tuple[Array, str]:
    values = [DEFAULT_ELO if value is None else value for value in by_code(option, codes, "--elo")]
    if min(values) < 0:
        raise UsageError(f"--elo: a tune loses Elo, {min(values):g} is not a number from 0")
    if len(set(values)) == 1:
        text = f"{values[0]:g} Elo are lost at half a range from the optimum of each parameter"
    else:
        each = ", ".join(f"{c} {v:g}" for c, v in zip(codes, values, strict=True))
        text = f"Elo lost at half a range from the optimum: {each}"
    return np.array(values, dtype=np.float64), f"{text} (--elo)"


def _optimum(option: ByCode, codes: list[str], space: Space) -> tuple[Array | None, str]:
    places = by_code(option, codes, "--optimum")
    kinds = {place for place in places if place is not None} or {"random"}
    if kinds == {"random"}:
        return None, "optima may be anywhere within the bounds (--optimum)"
    if "random" in kinds or None in places:
        raise UsageError("--optimum is random for all parameters or for none; give each a place")
    starts = ((space.start - space.minimum) / space.width).tolist()
    shares = [{"centre": 0.5, "start": starts[i]}.get(p, p) for i, p in enumerate(places)]
    optimum = space.minimum + np.array(shares, dtype=np.float64) * space.width
    values = zip(codes, space.values(optimum).tolist(), strict=True)
    each = ", ".join(f"{code} {value:.6g}" for code, value in values)
    return optimum, f"optima: {each} (--optimum)"


def assumed_draws(
    option: float | None, game: GameName, played: Sequence[StoredGame] = ()
) -> tuple[float, str]:
    """Return the share of draws between equal players, with its origin in words."""
    if option is not None:
        return option, f"{100 * option:g} % draws (--draw-ratio)"
    if played:
        ratio = min(fmean(game.result.outcome == "draw" for game in played), 0.999)
        return ratio, f"{100 * ratio:.1f} % draws, as in the last {counted(len(played), 'game')}"
    ratio = _DRAWS_IN_CHESS if game == "chess" else 0.0
    return ratio, f"{100 * ratio:g} % draws (--draw-ratio)"


def error_of_mean(values: Array) -> float:
    """Return half the width of the 95 % interval of the mean."""
    if len(values) < 2:
        return 0.0
    return Z95 * float(values.std(ddof=1) / np.sqrt(len(values)))
