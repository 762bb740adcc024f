"""Simulated tunes of a control file, for `plan` and `simulate`: the assumptions, from options
and from measurements of the status file, and the run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.errors import UsageError, counted
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.stats.elo import Z95
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
    parallel          games at a time in the real run
    seconds_per_game  of `plan`; None: as measured
    replicates, elo_model, draw_model, bias  of `simulate`
    """

    elo: ByCode = field(default_factory=dict)
    optimum: ByCode = field(default_factory=dict)
    draw_ratio: float | None = None
    seed: int = 0
    parallel: int = 1
    seconds_per_game: float | None = None
    replicates: int = 100
    elo_model: str = "quadratic"
    draw_model: str = "fixed"
    bias: float = 0.0


@dataclass(frozen=True)
class Measured:
    """Measurements of the last games in the status file; None without games.

    games       number of measured games
    seconds     wall time of a game
    draw_ratio  share of draws
    """

    games: int = 0
    seconds: float | None = None
    draw_ratio: float | None = None


def _measured(loaded: LoadedCompetition) -> Measured:
    """Return the measurements of the status file.  Raises StoreError."""
    if not loaded.paths.has_results:
        return Measured()
    store = Store.open_readonly(loaded.paths.status)
    try:
        last = sum(store.counts())
        results = [r.result for r in store.games(max(0, last - _MEASURED_RESULTS))]
    finally:
        store.close()
    played = [result for result in results if result.outcome != "void"]
    if not played:
        return Measured()
    draws = sum(result.outcome == "draw" for result in played)
    return Measured(
        len(played),
        sum(result.seconds for result in played) / len(played),
        draws / len(played),
    )


@dataclass(frozen=True, eq=False)
class Forecast:
    """A tune with its assumed players.

    elo      Elo lost at half a range from the optimum, (n,)
    optimum  on the parameters' scales, (n,); None if random
    lines    the assumptions in words
    """

    options: ForecastOptions
    competition: SpsaCompetition
    known: Measured
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
            f"plan and simulate are for competition_type 'spsa'; {loaded.code} is of type "
            f"{competition.type_name!r}"
        )
    known, tuner = _measured(loaded), competition.tuner
    codes = [p.code for p in competition.tuned]
    elo, elo_text = _elo(options.elo, codes)
    optimum, place_text = _optimum(options.optimum, codes, tuner.space)
    ratio, ratio_text = _draw_ratio(options.draw_ratio, competition, known)
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
        known,
        elo,
        optimum,
        ratio,
        (elo_text, place_text, ratio_text),
        tune,
        SimulatedPlayers(model, draws, options.bias, optimum is None and not is_fixed),
    )


def _by_parameter(values: ByCode, codes: list[str], option: str) -> list[Any]:
    """Return an option's value for each parameter, None if it is not set."""
    for code in values:
        if code is not None and code not in codes:
            raise UsageError(
                f"{option}: no parameter {code!r} is tuned; there are {', '.join(codes)}"
            )
    return [values.get(code, values.get(None)) for code in codes]


def _elo(option: ByCode, codes: list[str]) -> tuple[Array, str]:
    values = [
        DEFAULT_ELO if value is None else value for value in _by_parameter(option, codes, "--elo")
    ]
    if len(set(values)) == 1:
        text = f"{values[0]:g} Elo are lost at half a range from the optimum of each parameter"
    else:
        each = ", ".join(f"{c} {v:g}" for c, v in zip(codes, values, strict=True))
        text = f"Elo lost at half a range from the optimum: {each}"
    return np.array(values, dtype=np.float64), f"{text} (--elo)"


def _optimum(option: ByCode, codes: list[str], space: Space) -> tuple[Array | None, str]:
    places = _by_parameter(option, codes, "--optimum")
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


def _draw_ratio(
    option: float | None, competition: SpsaCompetition, known: Measured
) -> tuple[float, str]:
    if option is not None:
        return option, f"{100 * option:g} % draws (--draw-ratio)"
    if known.draw_ratio is not None:
        ratio = min(known.draw_ratio, 0.999)
        return ratio, f"{100 * ratio:.1f} % draws, as in the last {counted(known.games, 'game')}"
    ratio = _DRAWS_IN_CHESS if competition.settings.game == "chess" else 0.0
    return ratio, f"{100 * ratio:g} % draws (--draw-ratio)"


def error_of_mean(values: Array) -> float:
    """Return half the width of the 95 % interval of the mean."""
    if len(values) < 2:
        return 0.0
    return Z95 * float(values.std(ddof=1) / np.sqrt(len(values)))
