"""Scores of positions in centipawns from one UCI or USI engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringmaster.engines.channel import Stream
from ringmaster.engines.engine import MAX_TEXT, RESTART_PATIENCE, Engine, start_timeout
from ringmaster.engines.process import Surroundings
from ringmaster.engines.score_streams import (
    AnswerStream,
    CustomForm,
    EvaluationForm,
    EvaluationStream,
    end_of_answer,
    exact_score,
    needs_search,
    recognise,
    score_of,
)
from ringmaster.engines.uci import UciOrUsiEngine
from ringmaster.engines.uci_messages import Go, Ready, read_info
from ringmaster.errors import EngineError, EngineProtocolError, EngineTimeout, cut
from ringmaster.model.jobs import Apply, EvaluationJob
from ringmaster.model.players import Player
from ringmaster.play.engine_pool import MakeEngine, launch_key
from ringmaster.play.transcript import GameTranscript

Scores = npt.NDArray[np.float32]

#: Seconds for an engine to answer `stop` after a timeout.
_STOP_GRACE = 1.0
#: A search after which an engine uses its new options.  Always the same position, since
#: Glaurung's king safety depends on its side to move, and one that is in no book.
_OPTIONS_SEARCH = b"position fen 8/8/4k3/8/8/3K4/4P3/8 w - - 0 1\ngo depth 1\n"


@dataclass(frozen=True)
class Answers:
    """An engine's answers for positions.

    scores  centipawns for the side that moves first in a game, NaN without a score; None
            for a job of texts only
    texts   the answers themselves, for a job that wants them
    """

    scores: Scores | None
    texts: tuple[str, ...] | None = None


class Scorer:
    """Requests scores from the engine of an evaluation job.

    The methods raise an EngineError when the engine misbehaves, and JobAbandoned.
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
        #: The depth of a search's last score, by the engine's own word.
        self.depth: int | None = None
        #: The control file's pattern and the last answer, for messages.
        self.explanation = ""
        self._job = job
        self._make = make
        self._surroundings = surroundings
        self._transcript = transcript
        self._go = job.score.go
        self._command = (self._go or job.score.command or "eval").encode()
        self._form: EvaluationForm | None = None
        self._uses_options = False
        self._custom = None if job.score.pattern is None else CustomForm(job.score)
        self._first = b"b" if job.settings.game == "shogi" else b"w"

    @property
    def searches(self) -> bool:
        """Return whether the scores come from a search."""
        return self._go is not None

    def launch(self) -> bool:
        """Start the engine unless it runs; return whether it was started."""
        if self.engine.is_usable():
            self.engine.channel.transcript = self._transcript
            self.engine.restart_count()
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
        """Set a player's options in the way of `mode`; in a new process if the command line
        or environment differ."""
        engine = self.engine
        alive = engine.is_usable()
        if mode == "restart" or not alive or launch_key(engine.player) != launch_key(player):
            self.renew(player)
        self.prepare(player, new_game=mode != "live" or self.searches)

    def prepare(self, player: Player, *, new_game: bool) -> None:
        """Set a player's options in the present process."""
        engine = self._universal
        engine.change_player(player)
        engine.prepare(self._job.settings, new_game=new_game)
        self._uses_options = False

    @property
    def _universal(self) -> UciOrUsiEngine:
        assert isinstance(self.engine, UciOrUsiEngine)
        return self.engine

    def ask(self, texts: Sequence[bytes], in_flight: int, patience: float | None = None) -> Answers:
        """Score positions in order.

        texts     FEN or SFEN
        patience  seconds for each answer, None: the job's
        """
        seconds = self._job.settings.hang_timeout if patience is None else patience
        requests = self._universal.requests(texts, self._command)
        if self.searches or self._custom is not None or self._job.answers:
            return self._ask_texts(texts, requests, in_flight, seconds)
        if not texts:
            return Answers(np.zeros(0, dtype=np.float32))
        form = self._form
        if form is None:
            form = self._form = self._recognised(requests[0], texts, seconds)
        self._apply_options(form.needs_search, seconds)
        stream = EvaluationStream(requests, in_flight, form.pattern)
        self._stream(stream, texts, seconds)
        return Answers(self._sided(stream.values, form.unit, form.pov, texts))

    def _apply_options(self, needs_search: bool, seconds: float) -> None:
        """Search once if the engine needs it to use its new options."""
        if needs_search and not self._uses_options:
            self.engine.channel.converse(Go(_OPTIONS_SEARCH), seconds)
        self._uses_options = True

    def _recognised(self, request: bytes, texts: Sequence[bytes], seconds: float) -> EvaluationForm:
        stream = AnswerStream([request], 1, searches=False)
        self._stream(stream, texts, seconds)
        try:
            return recognise(stream.answers[0])
        except EngineProtocolError as error:
            # gpsusi reports an unknown command on standard error.
            words = self.engine.last_words()
            raise EngineProtocolError(
                f"{error}\nits last words:\n{words}" if words else str(error), error.code
            ) from None

    def _ask_texts(
        self, texts: Sequence[bytes], requests: list[bytes], in_flight: int, seconds: float
    ) -> Answers:
        if texts and not self.searches and not self._uses_options:
            # The answer to any command shows the family.
            first = AnswerStream(requests[:1], 1, searches=False)
            self._stream(first, texts, seconds)
            self._apply_options(needs_search(first.answers[0]), seconds)
        keeps_all = self._custom is not None or self._job.answers
        shorten = end_of_answer if keeps_all else exact_score
        stream = AnswerStream(requests, in_flight, searches=self.searches, shorten=shorten)
        self._stream(stream, texts, seconds)
        answers = None
        if self._job.answers:
            answers = tuple(answer.decode("utf-8", "replace") for answer in stream.answers)
        custom = self._custom
        if custom is not None:
            values = list(map(custom.value, stream.answers))
            self.explanation = custom.explain(stream.answers[-1]) if stream.answers else ""
            return Answers(self._sided(values, custom.unit, custom.pov, texts), answers)
        if self._go is None:
            return Answers(None, answers)
        self.depth = read_info(exact_score(stream.answers[-1])).get("depth")
        self._check_quiet()
        return Answers(self._searched(stream.answers, texts), answers)

    def _sided(self, values: list[float], unit: float, pov: str, texts: Sequence[bytes]) -> Scores:
        scores = np.array(values, dtype=np.float64) * unit
        if pov == "mover":
            scores *= self._signs(texts)
        return scores.astype(np.float32)

    def _searched(self, answers: Sequence[bytes], texts: Sequence[bytes]) -> Scores:
        values = [score_of(exact_score(answer)) for answer in answers]
        first, second = map(self.engine.player.turns_scores, (0, 1))
        signs = self._signs(texts)
        turned = np.where(signs > 0, -1.0 if first else 1.0, -1.0 if second else 1.0)
        return (np.array(values, dtype=np.float64) * signs * turned).astype(np.float32)

    def _signs(self, texts: Sequence[bytes]) -> npt.NDArray[np.float64]:
        """Return 1 where the side to move moves first in a game, -1 elsewhere."""
        first = self._first
        movers = [text.split(b" ", 2)[1] == first for text in texts]
        return np.where(np.array(movers, dtype=bool), 1.0, -1.0)

    def _stream(self, stream: Stream, texts: Sequence[bytes], seconds: float) -> None:
        try:
            self.engine.channel.stream(stream, seconds)
        except EngineError as error:
            raise self._explained(error, stream, texts) from error

    def _explained(self, error: EngineError, stream: Stream, texts: Sequence[bytes]) -> EngineError:
        """Return the error with the command, the position and the last words."""
        command = self._command.decode()
        where = f"{error}; command {command!r}, position {stream.done + 1} of {len(texts)}"
        if stream.done < len(texts):
            where += f", {texts[stream.done].decode('ascii', 'replace')}"
        if isinstance(error, EngineTimeout) and self._go is not None:
            where += "; " + self._stop()
        if words := self.engine.last_words():
            where += f"\nits last words:\n{words}"
        return type(error)(cut(where, MAX_TEXT), error.code)

    def _stop(self) -> str:
        """Send `stop` to a search without end; return the effect for a message."""
        try:
            self.engine.channel.converse(Go(b"stop\n"), _STOP_GRACE)
        except EngineError:
            return "it did not obey 'stop' either"
        return "it searched until 'stop'"

    def _check_quiet(self) -> None:
        """Raise EngineProtocolError for more answers than requests."""
        ready = Ready()
        self.engine.channel.converse(ready, self._job.settings.hang_timeout)
        if ready.moves:
            raise EngineProtocolError("it gave more answers than there were requests")
