"""One engine as a source of scores: positions go in, centipawns come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringmaster.engines.engine import Engine, cut, start_timeout
from ringmaster.engines.exchange import Stream
from ringmaster.engines.info import last_score_lines
from ringmaster.engines.process import Surroundings
from ringmaster.engines.score_forms import (
    CustomForm,
    EvaluationForm,
    is_to_be_woken,
    recognise,
)
from ringmaster.engines.scoring import (
    AnswerStream,
    EvaluationStream,
    Requests,
    SearchStream,
    score_of,
)
from ringmaster.engines.universal import Go, Ready, UniversalEngine
from ringmaster.errors import EngineError, EngineProtocolError, EngineTimeout
from ringmaster.model.jobs import Apply, EvaluationJob
from ringmaster.model.players import Player
from ringmaster.play.engine_pool import RESTART_PATIENCE, launch_key
from ringmaster.play.transcript import GameTranscript

Scores = npt.NDArray[np.float32]
MakeEngine = Callable[[Player, Surroundings], Engine]

#: Seconds for an engine that has missed its deadline to obey `stop`.
_STOP_GRACE = 1.0
#: A search that makes an engine look at its options: always of one position, since
#: Glaurung's king safety depends on whose move it was then, and of none in its book.
_WAKING = b"position fen 8/8/4k3/8/8/3K4/4P3/8 w - - 0 1\ngo depth 1\n"


@dataclass(frozen=True)
class Answers:
    """What an engine says of positions.

    scores  centipawns from the side that moves first in a game, NaN without one; None
            where only the texts are wanted
    texts   what it said, if that is wanted
    """

    scores: Scores | None
    texts: tuple[str, ...] | None = None


class Scorer:
    """Asks the engine of an evaluation job, which is launched when that is needed.

    Its methods raise an EngineError when the engine misbehaves, and JobAbandoned.
    """

    def __init__(
        self,
        job: EvaluationJob,
        engine: Engine,
        make: MakeEngine,
        surroundings: Surroundings,
        transcript: GameTranscript | None,
    ) -> None:
        self.engine = engine
        #: The depth that the last score of a search was from, as the engine says.
        self.depth: int | None = None
        #: Of a pattern of the control file: what it is looked for in.
        self.seen = ""
        self._job = job
        self._make = make
        self._surroundings = surroundings
        self._transcript = transcript
        self._go = job.score.go
        self._command = (self._go or job.score.command or "eval").encode()
        self._form: EvaluationForm | None = None
        self._is_awake = False
        self._custom = None if job.score.pattern is None else CustomForm(job.score)
        self._first = b"b" if job.settings.game == "shogi" else b"w"

    @property
    def searches(self) -> bool:
        """Whether the scores come from a search, so that hash tables matter."""
        return self._go is not None

    def launch(self) -> bool:
        """Start the engine, if it is not there; returns whether it was started."""
        if self.engine.is_alive():
            self.engine.channel.transcript = self._transcript
            self.engine.forget_peak()
            return False
        timeout = start_timeout(self._job.settings, self.engine.player)
        self.engine.launch(self._transcript, timeout=timeout)
        return True

    def renew(self, player: Player) -> None:
        """End the engine, and start another process for `player`."""
        self.engine.end(patience=RESTART_PATIENCE)
        self.engine = self._make(player, self._surroundings)
        self._form = None
        self.launch()

    def set(self, player: Player, mode: Apply) -> None:
        """Bring the engine to a player's options, in the way that `mode` says; in a new
        process, too, where its command line or environment are different."""
        engine = self.engine
        if not isinstance(engine, UniversalEngine):
            raise EngineProtocolError(
                f"positions are scored over UCI or USI, and {player.code!r} speaks"
                f" {player.protocol.upper()}",
                player.code,
            )
        alive = engine.is_alive()
        if mode == "restart" or not alive or launch_key(engine.player) != launch_key(player):
            self.renew(player)
        self.prepare(player, new_game=mode != "live" or self.searches)

    def prepare(self, player: Player, *, new_game: bool) -> None:
        """Set a player's options in the process that there is."""
        engine = self._universal
        engine.player = player
        engine.channel.code = player.code
        engine.prepare(self._job.settings, new_game=new_game)
        self._is_awake = False

    @property
    def _universal(self) -> UniversalEngine:
        assert isinstance(self.engine, UniversalEngine)
        return self.engine

    def ask(self, texts: Sequence[bytes], in_flight: int, patience: float | None = None) -> Answers:
        """Ask for positions, in order.

        texts     FEN or SFEN
        patience  seconds for each answer, None: the job's
        """
        seconds = self._job.settings.hang_timeout if patience is None else patience
        requests = self._universal.requests(texts, self._command)
        if self._custom is not None or self._job.answers:
            return self._ask_texts(texts, requests, in_flight, seconds)
        if self._go is not None:
            search = SearchStream(requests, in_flight)
            self._stream(search, texts, seconds)
            self.depth = search.depth
            self._check_quiet()
            return Answers(self._searched(search.values, texts))
        if not texts:
            return Answers(np.zeros(0, dtype=np.float32))
        form = self._form
        if form is None:
            form = self._form = self._recognised(requests[0], texts, seconds)
        self._wake(form.wakes, seconds)
        stream = EvaluationStream(requests, in_flight, form.pattern)
        self._stream(stream, texts, seconds)
        return Answers(self._sided(stream.values, form.unit, form.pov, texts))

    def _wake(self, wakes: bool, seconds: float) -> None:
        """Make an engine that has to be woken look at its options."""
        if wakes and not self._is_awake:
            self.engine.channel.converse(Go(_WAKING), seconds)
        self._is_awake = True

    def _recognised(self, request: bytes, texts: Sequence[bytes], seconds: float) -> EvaluationForm:
        stream = AnswerStream([request], 1, searches=False)
        self._stream(stream, texts, seconds)
        try:
            return recognise(stream.answers[0])
        except EngineProtocolError as error:
            # gpsusi says on standard error that it does not know the command
            words = self.engine.last_words()
            raise EngineProtocolError(
                f"{error}\nits last words:\n{words}" if words else str(error), error.code
            ) from None

    def _ask_texts(
        self, texts: Sequence[bytes], requests: list[bytes], in_flight: int, seconds: float
    ) -> Answers:
        if texts and not self.searches and not self._is_awake:
            # an engine of a known family is one whatever words it is asked in
            first = AnswerStream(requests[:1], 1, searches=False)
            self._stream(first, texts, seconds)
            self._wake(is_to_be_woken(first.answers[0]), seconds)
        stream = AnswerStream(requests, in_flight, searches=self.searches)
        self._stream(stream, texts, seconds)
        said = None
        if self._job.answers:
            said = tuple(answer.decode("utf-8", "replace") for answer in stream.answers)
        custom = self._custom
        if custom is not None:
            values = list(map(custom.value, stream.answers))
            self.seen = custom.explain(stream.answers[-1]) if stream.answers else ""
            return Answers(self._sided(values, custom.unit, custom.pov, texts), said)
        if self._go is None:
            return Answers(None, said)
        lines = [last_score_lines(a)[0] for a in stream.answers]
        return Answers(self._searched(list(map(score_of, lines)), texts), said)

    def _sided(self, values: list[float], unit: float, pov: str, texts: Sequence[bytes]) -> Scores:
        scores = np.array(values, dtype=np.float64) * unit
        if pov == "mover":
            scores *= self._signs(texts)
        return scores.astype(np.float32)

    def _searched(self, values: list[float], texts: Sequence[bytes]) -> Scores:
        first, second = map(self.engine.player.turns_scores, (0, 1))
        signs = self._signs(texts)
        turned = np.where(signs > 0, -1.0 if first else 1.0, -1.0 if second else 1.0)
        return (np.array(values, dtype=np.float64) * signs * turned).astype(np.float32)

    def _signs(self, texts: Sequence[bytes]) -> npt.NDArray[np.float64]:
        """Return 1 where the side to move moves first in a game, -1 elsewhere."""
        first = self._first
        movers = [text.split(b" ", 2)[1] == first for text in texts]
        return np.where(np.array(movers, dtype=bool), 1.0, -1.0)

    def _stream(self, stream: Requests, texts: Sequence[bytes], seconds: float) -> None:
        try:
            self.engine.channel.stream(stream, seconds)
        except EngineError as error:
            raise self._explained(error, stream, texts) from error

    def _explained(self, error: EngineError, stream: Stream, texts: Sequence[bytes]) -> EngineError:
        """Return the error with what was asked for, where it stood, and the last words."""
        asked = self._command.decode()
        where = f"{error}; asked {asked!r} for position {stream.done + 1} of {len(texts)}"
        if stream.done < len(texts):
            where += f", {texts[stream.done].decode('ascii', 'replace')}"
        if isinstance(error, EngineTimeout) and self._go is not None:
            where += "; " + self._stop()
        if words := self.engine.last_words():
            where += f"\nits last words:\n{words}"
        return type(error)(cut(where), error.code)

    def _stop(self) -> str:
        """Tell a search that has no end to stop; returns what came of it."""
        try:
            self.engine.channel.converse(Go(b"stop\n"), _STOP_GRACE)
        except EngineError:
            return "it did not obey 'stop' either"
        return "it went on until it was told to stop"

    def _check_quiet(self) -> None:
        """Raise EngineProtocolError if it has more answers than there were requests."""
        exchange = _Quiet()
        self.engine.channel.converse(exchange, self._job.settings.hang_timeout)
        if exchange.answers:
            raise EngineProtocolError("it gave more answers than there were requests")


class _Quiet(Ready):
    """isready, counting answers to `go` that come before readyok."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = 0

    def feed(self, line: bytes) -> bool:
        self.answers += line.startswith(b"bestmove")
        return super().feed(line)
