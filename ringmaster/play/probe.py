"""Measure an engine before it scores many positions.

The probe finds out whether scores exist and are repeatable, how many requests may be in flight,
and when changed options take effect.  Requests in flight must give the same answers as single
requests.  Options set in a running engine must give the scores of a new process.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from ringmaster.engines.uci import UciOrUsiEngine
from ringmaster.errors import EngineCrashed, EngineError, EngineTimeout
from ringmaster.model.jobs import Apply, EvaluationJob, Probe
from ringmaster.model.players import Player
from ringmaster.play.engine_pool import launch_key
from ringmaster.play.scorer import Answers, Scorer, Scores

#: Seconds for the first answer; some engines never end such a search.
_FIRST = 5.0
#: Additional seconds for answers in flight, beyond the time of single requests.
_LATE = 2.0
#: Requests that confirm a number in flight.
_CONFIRMING = 500
#: The most positions for each way to set options, and the least for each parameter.
_MOST_ASKED = 20_000
_FEWEST = 20
#: Seconds for one pass over them.
_PASS = 0.5
#: Parameters whose scores a new process confirms.
_CONFIRMED = 8
#: Seconds and passes to measure the rate.
_RATE_SECONDS = 0.2
_RATE_PASSES = 20

_MODES: tuple[Apply, ...] = ("live", "newgame", "restart")


class _Unusable(Exception):
    """The engine is unusable with these settings; the message is for the user."""


@dataclass
class _Trial:
    """Scores after a change of one parameter in one mode.

    scores    with the change; None if the engine failed
    restored  whether the old value gave the old scores again
    """

    scores: Scores | None
    restored: bool


def difference(one: Scores, other: Scores) -> float:
    """Return the largest difference in centipawns; infinite where only one side has a score."""
    if bool(np.any(np.isnan(one) != np.isnan(other))):
        return float("inf")
    gaps = np.abs(one - other)
    return float(np.nanmax(gaps)) if bool(np.any(~np.isnan(gaps))) else 0.0


class EngineProbe:
    """Run a probe.

    texts   a few hundred positions, in order
    scores  of these positions, None while unknown
    """

    def __init__(
        self,
        job: EvaluationJob,
        probe: Probe,
        scorer: Scorer,
        texts: Sequence[bytes],
    ) -> None:
        self._job = job
        self._probe = probe
        self._scorer = scorer
        self._texts = texts
        self._base = np.zeros(0, dtype=np.float32)
        self.scores: Scores | None = None
        #: The largest difference between scores of the same positions.
        self._noise = 0.0
        self._seconds = 0.0
        self._facts: dict[str, Any] = {
            "apply": probe.apply or "restart",
            "in_flight": probe.in_flight or 1,
            "repeatable": False,
            "moved": [False] * len(probe.changed),
            "largest": [0.0] * len(probe.changed),
            "none": 0.0,
            "rate": 0.0,
            "name": "",
            "problem": "",
        }

    def run(self) -> dict[str, Any]:
        """Return the facts.  Raises JobAbandoned.

        apply       "live", "newgame" or "restart": when options take effect
        in_flight   requests in flight
        repeatable  whether scores are the same each time
        moved       for each parameter, whether it changes a score
        largest     for each parameter, the largest change in centipawns
        none        share of positions without a score
        rate        positions a second of one process
        name        the engine's name
        problem     a reason why the engine is unusable, or ""
        """
        try:
            self._ask_one_at_a_time()
            self._repeat()
            self._find_in_flight()
            self._find_apply()
            self._measure_rate()
        except _Unusable as problem:
            self._facts["problem"] = str(problem)
        except EngineError as error:
            self._facts["problem"] = self._advised(error)
        self._facts["name"] = self._scorer.engine.name
        return self._facts

    # the answers themselves

    def _ask_one_at_a_time(self) -> None:
        if not self._texts:
            raise _Unusable("there are no positions")
        scorer, job = self._scorer, self._job
        scorer.renew(job.player)
        scorer.prepare(job.player, new_game=True)
        if scorer.searches:
            self._try_search()
            scorer.set(job.player, "restart")
        start = time.perf_counter()
        self._base = self.scores = self._scores(1)
        self._seconds = max(time.perf_counter() - start, 1e-6)
        self._facts["none"] = round(float(np.mean(np.isnan(self._base))), 6)
        scores = self._base[~np.isnan(self._base)]
        if not len(scores):
            reason = self._scorer.explanation and f": {self._scorer.explanation}"
            raise _Unusable(f"it gives no score for any of {len(self._texts)} positions{reason}")
        if len(scores) > 1 and not job.answers and bool(np.all(scores == scores[0])):
            raise _Unusable(
                f"it gives the same score, {scores[0]:g}, for all of {len(scores)} positions"
            )

    def _try_search(self) -> None:
        """Search one position, for a short time where some engines search without end."""
        scorer, kind = self._scorer, self._job.score
        endless = kind.kind in ("nodes", "quiescence")
        patience = min(_FIRST, self._job.settings.hang_timeout) if endless else None
        scorer.ask(self._texts[:1], 1, patience)
        if kind.kind == "quiescence" and (scorer.depth or 0) > 0:
            raise _Unusable(
                f"with 'go depth 0', a quiescence search, it searches to depth"
                f' {scorer.depth}; write score = "depth {scorer.depth}" or score = "eval"'
            )

    def _scores(
        self, in_flight: int, count: int | None = None, patience: float | None = None
    ) -> Scores:
        texts = self._texts if count is None else self._texts[:count]
        return _comparable(self._scorer.ask(texts, in_flight, patience))

    def _advised(self, error: EngineError) -> str:
        """Return the text of an error with a remedy."""
        kind = self._job.score
        text = str(error)
        if kind.kind == "quiescence" and isinstance(error, EngineTimeout | EngineCrashed):
            text += "\nit has no quiescence search by 'go depth 0'; write score = \"eval\""
            text += ' or score = "depth 1"'
        elif kind.kind == "nodes" and isinstance(error, EngineTimeout):
            text += '\nit does not obey a limit of nodes; write score = "depth 1"'
        elif self._scorer.searches and isinstance(error, EngineCrashed):
            text += (
                "\nif the engine limits its depth by an option (LimitDepth of gpsusi), set the"
                " option and write"
                ' score = Score(command="go btime 0 wtime 0 byoyomi 10000")'
            )
        return text

    # repeatability

    def _repeat(self) -> None:
        scorer = self._scorer
        scorer.prepare(self._job.player, new_game=True)
        noise = difference(self._scores(1), self._base)
        self._by_newgame = noise == 0
        if noise or self._restarts:
            scorer.set(self._job.player, "restart")
            noise = difference(self._scores(1), self._base)
        self._noise = noise
        self._facts["repeatable"] = noise == 0

    @property
    def _restarts(self) -> bool:
        """Return whether each shard gets a new process because scores come from a search.

        Hash tables may survive a new game unnoticed by a probe: of 17,343 scores of Glaurung at
        depth 2, three changed.
        """
        return self._scorer.searches and self._probe.apply in (None, "restart")

    def _same(self, one: Scores, other: Scores) -> bool:
        return difference(one, other) <= self._noise

    # requests in flight

    def _find_in_flight(self) -> None:
        wanted = self._probe.in_flight
        if wanted is not None:
            if wanted > 1 and (trouble := self._trouble(wanted)):
                raise _Unusable(
                    f'with {wanted} requests in flight {trouble}; write in_flight = 1, or "auto"'
                )
            self._facts["in_flight"] = wanted
            return
        if self._scorer.searches:
            # The protocols allow only `stop` during a search.  Toga and GNU Chess accept
            # hundreds of positions before they stall.
            return
        level, good = 2, 1
        while level <= self._probe.most_in_flight and not self._trouble(level):
            good, level = level, 2 * level
        again = -(-_CONFIRMING // len(self._texts)) if good > 1 else 0
        if any(self._trouble(good) for _ in range(again)):
            good = 1
        self._facts["in_flight"] = good

    def _trouble(self, in_flight: int) -> str:
        """Return the fault with a number of requests in flight, or ""."""
        scorer, job = self._scorer, self._job
        patience = min(job.settings.hang_timeout, _LATE + self._seconds)
        trouble = ""
        try:
            self._reset()
            if not self._same(self._scores(in_flight, patience=patience), self._base):
                trouble = "its answers are different"
        except EngineError as error:
            trouble = str(error)
        if trouble:
            scorer.set(job.player, "restart")
        return trouble

    def _reset(self) -> None:
        """Return the engine to its state before the first position."""
        if self._by_newgame:
            self._scorer.prepare(self._job.player, new_game=True)
        else:
            self._scorer.set(self._job.player, "restart")

    # effect of options

    def _find_apply(self) -> None:
        changed = self._probe.changed
        if not changed:
            plain = "newgame" if self._by_newgame and not self._restarts else "restart"
            self._facts["apply"] = self._probe.apply or plain
            return
        share = min(_MOST_ASKED / len(changed), len(self._texts) * _PASS / self._seconds)
        self._count = min(len(self._texts), max(_FEWEST, int(share)))
        base = self._job.player
        # a changed command line or environment always needs a new process
        fixed = [launch_key(p) != launch_key(base) for p in changed]
        free = [i for i, outside in enumerate(fixed) if not outside]
        trials: dict[Apply, dict[int, _Trial]] = {"live": {}, "newgame": {}, "restart": {}}
        modes: tuple[Apply, ...] = ("newgame",) if self._scorer.searches else ("live", "newgame")
        for mode in modes if self._by_newgame else ():
            trials[mode] = {i: self._try(changed[i], mode) for i in free}
        for i in self._to_confirm(trials["newgame"], fixed):
            trials["restart"][i] = self._try(changed[i], "restart")
        self._note_moves(trials)
        needed = self._weakest(trials, modes, fixed)
        wanted = self._probe.apply
        # a search always begins a new game
        effective = "newgame" if wanted == "live" and self._scorer.searches else wanted
        if effective is not None and _MODES.index(effective) < _MODES.index(needed):
            raise _Unusable(
                f'with apply = "{wanted}" new values have no effect; write apply = "{needed}"'
                ' or "auto"'
            )
        self._facts["apply"] = wanted or ("restart" if self._restarts else needed)
        if not any(self._facts["moved"]):
            raise _Unusable(self._unmoved())

    def _try(self, player: Player, mode: Apply) -> _Trial:
        """Change a parameter and set it back."""
        scorer, count = self._scorer, self._count
        in_flight = self._facts["in_flight"]
        # an engine that fails with requests in flight has probably failed before
        patience = _LATE + 2 * self._seconds if in_flight > 1 else None
        if patience is not None:
            patience = min(patience, self._job.settings.hang_timeout)
        try:
            scorer.set(player, mode)
            scores = self._scores(in_flight, count, patience)
            if mode == "restart":
                return _Trial(scores, True)
            scorer.set(self._job.player, mode)
            restored = self._same(self._scores(in_flight, count, patience), self._base[:count])
        except EngineError as error:
            if mode == "restart":
                raise type(error)(f"with {self._change(player)}: {error}", error.code) from error
            scorer.set(self._job.player, "restart")
            return _Trial(None, False)
        if not restored:
            scorer.set(self._job.player, "restart")
        return _Trial(scores, restored)

    def _change(self, player: Player) -> str:
        """Return the difference of a player from the job's in words."""
        was = self._job.player.options
        parts = [f"{k} = {v}" for k, v in player.options.items() if was.get(k) != v]
        return ", ".join(parts) or "a parameter changed on the command line or in the environment"

    def _to_confirm(self, tried: dict[int, _Trial], fixed: Sequence[bool]) -> Iterable[int]:
        """Return the parameters to change in a new process, too.

        These are parameters that need one, some parameters that moved scores, and all that did
        not, unless changing them together in a new process moves no score.
        """
        moves = [i for i, trial in tried.items() if self._moves(trial)]
        stuck = [i for i in tried if i not in moves]
        everywhere = [i for i, outside in enumerate(fixed) if outside]
        if not tried:
            return range(len(fixed))
        step = max(1, len(moves) // _CONFIRMED)
        chosen = everywhere + moves[::step][:_CONFIRMED]
        if len(stuck) > 1 and not self._any_moves(stuck):
            return chosen
        return chosen + stuck

    def _any_moves(self, stuck: Sequence[int]) -> bool:
        """Return whether changing parameters together in a new process moves a score."""
        options = dict(self._job.player.options)
        for i in stuck:
            was = self._job.player.options
            options |= {k: v for k, v in self._probe.changed[i].options.items() if was.get(k) != v}
        together = msgspec.structs.replace(self._job.player, options=options)
        try:
            return self._moves(self._try(together, "restart"))
        except EngineError:
            return True

    def _moves(self, trial: _Trial) -> bool:
        return trial.scores is not None and not self._same(trial.scores, self._base[: self._count])

    def _note_moves(self, trials: dict[Apply, dict[int, _Trial]]) -> None:
        moved, largest = self._facts["moved"], self._facts["largest"]
        for mode in _MODES:
            for i, trial in trials[mode].items():
                if self._moves(trial) and trial.scores is not None:
                    moved[i] = True
                    gap = difference(trial.scores, self._base[: self._count])
                    # infinite: a score appeared or disappeared
                    largest[i] = round(gap, 3) if np.isfinite(gap) else 0.0
        if self._job.answers:
            self._facts["largest"] = [0.0] * len(moved)
            if self._noise:
                # the texts vary anyway, so a change would not show
                self._facts["moved"] = [True] * len(moved)

    def _weakest(
        self,
        trials: dict[Apply, dict[int, _Trial]],
        modes: Sequence[Apply],
        fixed: Sequence[bool],
    ) -> Apply:
        """Return the weakest mode that gives the scores of all stronger modes.

        Setting the old values must also give the old scores.
        """
        if not self._by_newgame or any(
            outside and self._facts["moved"][i] for i, outside in enumerate(fixed)
        ):
            return "restart"
        for number, mode in enumerate(modes):
            stronger = [trials[later] for later in (*modes[number + 1 :], "restart")]
            if all(
                trial.restored and self._agrees(trial, [by[i] for by in stronger if i in by])
                for i, trial in trials[mode].items()
            ):
                return mode
        return "restart"

    def _agrees(self, trial: _Trial, others: Iterable[_Trial]) -> bool:
        """Return whether all trials gave the same scores."""
        return trial.scores is not None and all(
            other.scores is not None and self._same(trial.scores, other.scores) for other in others
        )

    def _unmoved(self) -> str:
        scorer = self._scorer
        text = (
            "no parameter changes any score, not even in a new game or process: tune options "
            "of the engine's evaluation (for options of the search, use spsa)"
        )
        if isinstance(scorer.engine, UciOrUsiEngine):
            network = scorer.engine.options.get("use nnue")
            if network is not None and "Use NNUE" not in self._job.player.options:
                text += '; its network may give the scores: set options={"Use NNUE": False}'
        return text

    def _measure_rate(self) -> None:
        in_flight = self._facts["in_flight"]
        scorer = self._scorer
        scorer.set(self._job.player, "restart")
        self._scores(in_flight)
        passes, spent = 0, 0.0
        while passes < _RATE_PASSES and spent < _RATE_SECONDS:
            if scorer.searches:
                scorer.prepare(self._job.player, new_game=True)
            start = time.perf_counter()
            self._scores(in_flight)
            spent += time.perf_counter() - start
            passes += 1
        self._facts["rate"] = round(passes * len(self._texts) / max(spent, 1e-9), 1)


def _comparable(answers: Answers) -> Scores:
    """Return numbers that are equal for equal answers."""
    if answers.scores is not None:
        return answers.scores
    # a float32 holds 24 bits
    sums = [zlib.crc32(text.encode()) & 0xFFFFFF for text in answers.texts or ()]
    return np.array(sums, dtype=np.float32)
