"""Scores from an engine's output."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.engines.channel import Stream
from ringmaster.engines.score_streams import (
    FORMS,
    MAX_ANSWER,
    AnswerStream,
    CustomForm,
    EvaluationStream,
    exact_score,
    recognise,
    score_of,
)
from ringmaster.errors import EngineProtocolError
from ringmaster.model.jobs import ScoreKind

STOCKFISH = FORMS[0].pattern


def requests(count: int) -> list[bytes]:
    return [b"ask %d\n" % n for n in range(count)]


def feed(stream: Stream, output: bytes, sizes: Iterable[int] = ()) -> bool:
    """Feed output in pieces, as a channel does; returns whether all is answered."""
    stream.more()
    partial = b""
    cuts = iter(sizes)
    while output:
        size = next(cuts, len(output))
        chunk, output = partial + output[:size], output[size:]
        end = chunk.rfind(b"\n") + 1
        partial = chunk[end:]
        if end and stream.take(chunk[:end]) is None:
            return True
    return False


def searches(count: int, in_flight: int = 1) -> AnswerStream:
    return AnswerStream(requests(count), in_flight, searches=True, shorten=exact_score)


CHUNKS = st.lists(st.integers(1, 60), max_size=60)
VALUES = st.lists(st.one_of(st.none(), st.integers(-3000, 3000)), min_size=1, max_size=12)


@given(values=VALUES, sizes=CHUNKS, in_flight=st.integers(1, 20))
def test_scores_do_not_depend_on_how_the_output_was_cut(
    values: list[int | None], sizes: list[int], in_flight: int
) -> None:
    output = b"".join(
        b" Final evaluation no\n\nFinal evaluation: none (in check)\n\n"
        if value is None
        else b"Term 1.5\nFinal evaluation       %+.2f (white side) [mixed]\n\n" % (value / 100)
        for value in values
    )
    stream = EvaluationStream(requests(len(values)), in_flight, STOCKFISH)
    stream._sent = len(values)
    assert feed(stream, output + b"readyok\n", sizes)
    rounded_values = [None if math.isnan(v) else round(100 * v) for v in stream.values]
    assert rounded_values == values


@given(values=VALUES, sizes=CHUNKS)
def test_scores_of_searches_do_not_either(values: list[int | None], sizes: list[int]) -> None:
    output = b"".join(
        b"info depth 1 score cp 9 upperbound\nbestmove (none)\n"
        if value is None
        else b"info depth 1 score cp 5 pv a1a2\ninfo depth 2 score cp %d pv a1a2\n"
        b"info multipv 2 score cp 1 pv a1a3\ninfo string score cp 3\nbestmove a1a2 ponder b1b2\n"
        % value
        for value in values
    )
    stream = searches(len(values))
    stream._sent = len(values)
    assert feed(stream, output, sizes)
    scores = map(score_of, stream.answers)
    assert [None if math.isnan(score) else score for score in scores] == values


@given(texts=st.lists(st.text("ab \n", max_size=20), min_size=1, max_size=8), sizes=CHUNKS)
def test_answers_as_texts_do_not_either(texts: list[str], sizes: list[int]) -> None:
    text_lines = [text.encode() + b"\n" for text in texts]
    stream = AnswerStream(requests(len(text_lines)), 1, searches=False)
    stream._sent = len(text_lines)
    assert feed(stream, b"".join(text + b"readyok\r\n" for text in text_lines), sizes)
    assert stream.answers == text_lines


@given(count=st.integers(1, 50), in_flight=st.integers(1, 20), data=st.data())
def test_no_more_requests_are_under_way_than_may_be(
    count: int, in_flight: int, data: st.DataObject
) -> None:
    stream = searches(count, in_flight)
    sent = stream.more().count(b"\n")
    requests_written = [stream.more()]
    done = 0
    while done < count:
        assert sent - done <= in_flight
        assert sent > done  # or nothing would ever come
        answers = data.draw(st.integers(1, sent - done))
        done += answers
        more = stream.take(b"bestmove a1a2\n" * answers)
        assert (more is None) == (done == count)
        sent += (more or b"").count(b"\n")
    assert requests_written == [b""]


@pytest.mark.parametrize(
    ("output", "error_caught"),
    [
        (b"Final evaluation 1.0\nreadyok\n", "a score for 1 of 2 positions"),
        (b"Final evaluation 1.0\n" * 3, "3 answers to 2 requests"),
        (b"Final evaluation 1.0\nFinal evaluation fine\n", "'fine' for a score"),
        (b"Final evaluation 1.0\nFinal evaluation inf\nreadyok\n", "inf for a score"),
        (b"Final evaluation nan\nFinal evaluation 1\nreadyok\n", "nan for a score"),
    ],
)
def test_impossible_answers_are_refused(output: bytes, error_caught: str) -> None:
    with pytest.raises(EngineProtocolError, match=error_caught):
        feed(EvaluationStream(requests(2), 2, STOCKFISH), output)


@pytest.mark.parametrize(
    ("score", "value"),
    [(b"mate 3", 10000), (b"mate -2", -10000), (b"mate 0", -10000), (b"mate +", 10000)],
)
def test_mate_is_ten_thousand(score: bytes, value: float) -> None:
    stream = searches(1)
    feed(stream, b"info depth 5 score %s pv a1a2\nbestmove a1a2\n" % score)
    assert score_of(stream.answers[0]) == value


def test_blanks_before_a_line_are_passed_over() -> None:
    output = b"  info depth 5 score cp 7\ninfo string bestmove\n\t bestmove a1a2\n"
    search, texts = searches(1), AnswerStream(requests(1), 1, searches=True)
    assert feed(search, output)
    assert feed(texts, output)
    assert (search.answers, texts.answers) == ([b"info depth 5 score cp 7\n"], [output])
    evaluation = EvaluationStream(requests(1), 1, STOCKFISH)
    assert feed(evaluation, b"Final evaluation 0.5\n readyok\n")


def test_long_answer_keeps_its_end() -> None:
    stream = AnswerStream(requests(1), 1, searches=False)
    feed(stream, b"beginning\n" + b"x\n" * MAX_ANSWER + b"end\nreadyok\n", [1000] * 50)
    assert len(stream.answers[0]) == MAX_ANSWER
    assert stream.answers[0].endswith(b"x\nend\n")


@pytest.mark.parametrize(
    ("answer", "pawn", "pov"),
    [
        ("Final evaluation       +1.00 (white side) [with scaled NNUE]", 1.0, "first"),
        ("Final evaluation: none (in check)", 1.0, "first"),
        ("Total Evaluation: 1.00 (white side)", 1.0, "first"),
        ("Incremental mg: 7\nFull eval: 204", 204, "mover"),
        ("eval = 90", 90, "mover"),
    ],
)
def test_families_are_known_by_their_lines(answer: str, pawn: float, pov: str) -> None:
    form = recognise(answer.encode() + b"\n")
    assert (pawn * form.unit, form.pov) == (pytest.approx(100), pov)


@pytest.mark.parametrize("answer", ["Total: 5", "", "Final evaluation: soon", "eval = 1\neval = 2"])
def test_unknown_form_is_refused_with_the_answer_and_advice(answer: str) -> None:
    with pytest.raises(EngineProtocolError, match=r"Score\(command=") as caught:
        recognise(answer.encode() + b"\n")
    assert (answer.splitlines() or ["nothing at all"])[-1] in str(caught.value)


def custom(pattern: str) -> CustomForm:
    return CustomForm(ScoreKind(pattern=pattern))


def test_pattern_finds_the_last_line_that_matches() -> None:
    assert custom(r"Total: (\S+)").value(b"Total: 1\nTotal: -2.5 cp\nbye\n") == -2.5
    assert math.isnan(custom(r"Total: (\S+)").value(b"nothing\n"))
    assert math.isnan(custom(r"Total: (\S+)").value(b"Total: none (in check)\n"))
    with pytest.raises(EngineProtocolError, match="is no score"):
        custom(r"Total: (\S+)").value(b"Total: -1e999\n")


def test_pattern_that_finds_no_number_is_refused() -> None:
    with pytest.raises(EngineProtocolError, match="'otal'"):
        custom(r"T(\w+)").value(b"Total: 1\n")
