"""What there is to know of an engine before a hundred thousand positions are asked of
it: whether its scores can be had and repeated, how many requests it bears at a time,
and how it has to be told that its options are different now.

Nothing is taken on trust.  Requests in flight must give the answers that one at a time
gives; options that are set on the way must give the scores that a new process gives.
What is found is data, and what makes the engine unusable is a sentence for the user.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from ringmaster.engines.universal import UniversalEngine
from ringmaster.errors import EngineCrashed, EngineError, EngineTimeout
from ringmaster.model.jobs import Apply, EvaluationJob, Probe
from ringmaster.model.players import Player
from ringmaster.play.engine_pool import launch_key
from ringmaster.play.scoring import Answers, Scorer, Scores

#: Seconds for the first answer to a search that some engines never end.
_FIRST = 5.0
#: Seconds that pipelined answers may be late, beside the time that one at a time took.
_LATE = 2.0
#: Requests after which it is believed that the engine bears so many in flight.
_CONFIRMING = 500
#: Positions that are asked for in all, per way of telling an engine of its options.
_MOST_ASKED = 20_000
_FEWEST = 20
#: Seconds that asking for them once may take.
_PASS = 0.5
#: Parameters for which a new process has to confirm what an old one says.
_CONFIRMED = 8
#: Seconds and passes for measuring the rate.
_RATE_SECONDS = 0.2
_RATE_PASSES = 20

_MODES: tuple[Apply, ...] = ("live", "newgame", "restart")


class _Unusable(Exception):
    """The engine cannot be used like this; the message is for the user."""


@dataclass
class _Trial:
    """What a change of one parameter does in one mode.

    scores    with the change, None if that failed
    restored  whether setting it back gave the former scores again
    """

    scores: Scores | None
    restored: bool


def difference(one: Scores, other: Scores) -> float:
    """Return the largest difference of two scores, in centipawns; infinite where only
    one of them is a score."""
    if bool(np.any(np.isnan(one) != np.isnan(other))):
        return float("inf")
    gaps = np.abs(one - other)
    return float(np.nanmax(gaps)) if bool(np.any(~np.isnan(gaps))) else 0.0


class Prober:
    """Carries out a probe.

    texts  the positions, in order; a few hundred are enough
    """

    def __init__(
        self,
        job: EvaluationJob,
        probe: Probe,
        scorer: Scorer,
        texts: Sequence[bytes],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._job = job
        self._probe = probe
        self._scorer = scorer
        self._texts = texts
        self._clock = clock
        self._base = np.zeros(0, dtype=np.float32)
        #: By how much scores differ that ought to be the same.
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
        """Return the facts: "apply", "in_flight", "repeatable", "moved" and "largest"
        (of each parameter: whether and by how many centipawns at most it changes a
        score), "none" (share of positions without a score), "rate" (positions a second
        of one process), "name", and "problem", "" or what keeps the engine from being
        used.  Raises JobAbandoned."""
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
            raise _Unusable("there are no positions to ask for")
        scorer, job = self._scorer, self._job
        if job.player.protocol == "gtp":
            raise _Unusable(
                f"positions are scored over UCI or USI, and {job.player.code!r} speaks GTP"
            )
        scorer.renew(job.player)
        scorer.prepare(job.player, new_game=True)
        if scorer.searches:
            self._try_search()
            scorer.set(job.player, "restart")
        start = self._clock()
        self._base = self._scores(1)
        self._seconds = max(self._clock() - start, 1e-6)
        self._facts["none"] = round(float(np.mean(np.isnan(self._base))), 6)
        there = self._base[~np.isnan(self._base)]
        count = len(self._texts)
        if not len(there):
            why = self._scorer.seen and f": {self._scorer.seen}"
            raise _Unusable(f"it gives no score for any of {count} positions{why}")
        if len(there) > 1 and not job.answers and bool(np.all(there == there[0])):
            raise _Unusable(
                f"it gives the same score, {there[0]:g}, for all of {len(there)} positions"
            )

    def _try_search(self) -> None:
        """Ask for one position, with little patience where engines are known to search
        for ever."""
        scorer, kind = self._scorer, self._job.score
        endless = kind.kind in ("nodes", "quiescence")
        patience = min(_FIRST, self._job.settings.hang_timeout) if endless else None
        scorer.ask(self._texts[:1], 1, patience)
        if kind.kind == "quiescence" and (scorer.depth or 0) > 0:
            raise _Unusable(
                f"asked for a quiescence search by 'go depth 0' it searches to depth"
                f' {scorer.depth}; write score = "depth {scorer.depth}" or score = "eval"'
            )

    def _scores(
        self, in_flight: int, count: int | None = None, patience: float | None = None
    ) -> Scores:
        texts = self._texts if count is None else self._texts[:count]
        return _comparable(self._scorer.ask(texts, in_flight, patience))

    def _advised(self, error: EngineError) -> str:
        """Return what an error says, with what may help."""
        kind = self._job.score
        text = str(error)
        if kind.kind == "quiescence" and isinstance(error, EngineTimeout | EngineCrashed):
            text += "\nit has no quiescence search by 'go depth 0'; write score = \"eval\""
            text += ' or score = "depth 1"'
        elif kind.kind == "nodes" and isinstance(error, EngineTimeout):
            text += '\nit does not keep to a limit of nodes; write score = "depth 1"'
        elif self._scorer.searches and isinstance(error, EngineCrashed):
            text += (
                "\nwhere a limit of depth is an option of the engine (LimitDepth of gpsusi),"
                " set it, and write"
                ' score = Score(command="go btime 0 wtime 0 byoyomi 10000")'
            )
        return text

    # the same again

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
        """Return whether a process is started for each shard because scores come from a search.

        Tables of a search may outlive a new game without a trace in some hundred positions:
        in 17,343 scores of Glaurung at depth 2 there were three, of one position.
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
            # By the protocols nothing but `stop` may come during a search.  Toga and
            # GNU Chess bear hundreds of positions all the same, and stall then.
            return
        level, good = 2, 1
        while level <= self._probe.most_in_flight and not self._trouble(level):
            good, level = level, 2 * level
        again = -(-_CONFIRMING // len(self._texts)) if good > 1 else 0
        if any(self._trouble(good) for _ in range(again)):
            good = 1
        self._facts["in_flight"] = good

    def _trouble(self, in_flight: int) -> str:
        """Return what goes wrong with so many requests in flight, "" for nothing."""
        scorer, job = self._scorer, self._job
        patience = min(job.settings.hang_timeout, _LATE + self._seconds)
        trouble = ""
        try:
            self._begin_anew()
            found = self._scores(in_flight, patience=patience)
            if not self._same(found, self._base):
                trouble = "its answers are different"
        except EngineError as error:
            trouble = str(error)
        if trouble:
            scorer.set(job.player, "restart")
        return trouble

    def _begin_anew(self) -> None:
        """Have the engine as it was before the first position."""
        if self._by_newgame:
            self._scorer.prepare(self._job.player, new_game=True)
        else:
            self._scorer.set(self._job.player, "restart")

    # how options take effect

    def _find_apply(self) -> None:
        changed = self._probe.changed
        if not changed:
            self._facts["apply"] = self._probe.apply or self._weakest_plain()
            return
        share = min(_MOST_ASKED / len(changed), len(self._texts) * _PASS / self._seconds)
        self._count = min(len(self._texts), max(_FEWEST, int(share)))
        base = self._job.player
        # another command line or environment is another process whatever is said
        fixed = [launch_key(p) != launch_key(base) for p in changed]
        free = [i for i, outside in enumerate(fixed) if not outside]
        trials: dict[Apply, dict[int, _Trial]] = {"live": {}, "newgame": {}, "restart": {}}
        modes: tuple[Apply, ...] = ("newgame",) if self._scorer.searches else ("live", "newgame")
        for mode in modes if self._by_newgame else ():
            trials[mode] = {i: self._try(changed[i], mode) for i in free}
        for i in self._to_confirm(trials["newgame"], fixed):
            trials["restart"][i] = self._try(changed[i], "restart")
        self._note_moves(trials)
        found = self._weakest(trials, modes, fixed)
        wanted = self._probe.apply
        # a search begins a new game whatever is said
        told = "newgame" if wanted == "live" and self._scorer.searches else wanted
        if told is not None and _MODES.index(told) < _MODES.index(found):
            raise _Unusable(
                f'apply = "{wanted}" does not do: new values take effect only with'
                f' apply = "{found}", or "auto"'
            )
        self._facts["apply"] = wanted or ("restart" if self._restarts else found)
        if not any(self._facts["moved"]):
            raise _Unusable(self._unmoved())

    def _weakest_plain(self) -> Apply:
        return "newgame" if self._by_newgame and not self._restarts else "restart"

    def _try(self, player: Player, mode: Apply) -> _Trial:
        """Change a parameter and set it back."""
        scorer, count = self._scorer, self._count
        in_flight = self._facts["in_flight"]
        # who bears no requests in flight has been found out, but for bad luck
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
        """Return in words how a player differs from the job's."""
        was = self._job.player.options
        parts = [f"{k} = {v}" for k, v in player.options.items() if was.get(k) != v]
        return ", ".join(parts) or "a parameter changed on the command line or in the environment"

    def _to_confirm(self, tried: dict[int, _Trial], fixed: Sequence[bool]) -> Iterable[int]:
        """Return the parameters that are to be changed in a new process, too: those that
        need one, some that moved, and those that have not, if any of them does."""
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
        """Whether changing all of them together in a new process moves anything."""
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
                    # a score that comes or goes has no size
                    largest[i] = round(gap, 3) if np.isfinite(gap) else 0.0
        if self._job.answers:
            self._facts["largest"] = [0.0] * len(moved)
            if self._noise:
                # the texts differ anyway: the scores in them may well move
                self._facts["moved"] = [True] * len(moved)

    def _weakest(
        self,
        trials: dict[Apply, dict[int, _Trial]],
        modes: Sequence[Apply],
        fixed: Sequence[bool],
    ) -> Apply:
        """Return the weakest mode in which every parameter that moves anything at all
        does what it does in every stronger one, and can be set back."""
        if not self._by_newgame or any(
            outside and self._facts["moved"][i] for i, outside in enumerate(fixed)
        ):
            return "restart"
        stronger: list[Apply] = [*modes, "restart"]
        for n, mode in enumerate(modes):
            if all(
                trial.restored
                and trial.scores is not None
                and all(
                    (other := trials[later].get(i)) is None
                    or (other.scores is not None and self._same(trial.scores, other.scores))
                    for later in stronger[n + 1 :]
                )
                for i, trial in trials[mode].items()
            ):
                return mode
        return "restart"

    def _unmoved(self) -> str:
        scorer = self._scorer
        text = (
            "no parameter changes any score, neither at once nor in a new game or process: tune "
            "what the engine's evaluation goes by (for options of the search, and where an engine "
            "has none of its evaluation, there is spsa)"
        )
        if isinstance(scorer.engine, UniversalEngine):
            network = scorer.engine.options.get("use nnue")
            if network is not None and "Use NNUE" not in self._job.player.options:
                text += '; it may be scoring by its network: give it options={"Use NNUE": False}'
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
            start = self._clock()
            self._scores(in_flight)
            spent += self._clock() - start
            passes += 1
        self._facts["rate"] = round(passes * len(self._texts) / max(spent, 1e-9), 1)


def _comparable(answers: Answers) -> Scores:
    """Return numbers that are the same when the answers are."""
    if answers.scores is not None:
        return answers.scores
    # a float32 holds 24 bits
    sums = [zlib.crc32(text.encode()) & 0xFFFFFF for text in answers.texts or ()]
    return np.array(sums, dtype=np.float32)
