"""Pairings of Swiss rounds, and places in the table."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.tournaments.swiss_rules import (
    Entrant,
    Pairing,
    RoundScore,
    RoundScores,
    Score,
    pair_round,
    ranking,
)


def entrants(*points: int, **more: Any) -> list[Entrant]:
    """Return entrants a, b, c, … with these half points."""
    return [Entrant(chr(ord("a") + i), p, **more) for i, p in enumerate(points)]


def pairs(pairing: Pairing) -> str:
    bye = [] if pairing.bye is None else [pairing.bye]
    return " ".join(["".join(pair) for pair in pairing.pairs] + bye)


def test_first_round_has_the_upper_half_meet_the_lower_half_in_order() -> None:
    assert pairs(pair_round(entrants(*[0] * 8), one_more_first=False)) == "ae bf cg dh"


def test_last_seed_has_the_first_bye() -> None:
    assert pairs(pair_round(entrants(*[0] * 7), one_more_first=False)) == "ad be cf g"


def test_odd_group_sends_its_last_to_the_first_of_the_next() -> None:
    pairing = pair_round(entrants(4, 4, 4, 4, 4, 2, 2, 2), one_more_first=False)
    assert pairs(pairing) == "ac bd ef gh"


def test_first_move_of_level_players_goes_from_board_to_board() -> None:
    assert pairs(pair_round(entrants(0, 0, 0, 0, 0, 0), one_more_first=True)) == "ad eb cf"


# every pairing of a small field, judged by the rules themselves

Judgement = tuple[int, int, int, int]


def judged(field: Sequence[Entrant], pairing: Pairing, odd: bool) -> Judgement:
    """Return the costs of a pairing by the first four rules, written independently."""
    by_code = {entrant.code: entrant for entrant in field}
    fewest = min(entrant.byes for entrant in field)
    byes = 0 if pairing.bye is None else by_code[pairing.bye].byes - fewest
    met = difference = imbalance = 0
    for one, other in pairing.pairs:
        first, second = by_code[one], by_code[other]
        met += first.met.get(second.code, 0) ** 2
        difference += (first.points - second.points) ** 2
        if odd:
            imbalance += (first.balance + 1) ** 2 + (second.balance - 1) ** 2
    if pairing.bye is not None:
        last = min(entrant.points for entrant in field)
        difference += (by_code[pairing.bye].points - last) ** 2
        imbalance += by_code[pairing.bye].balance ** 2 if odd else 0
    return byes, met, difference, imbalance


def every_pairing(codes: list[str], odd: bool) -> Iterator[Pairing]:
    if len(codes) % 2:
        for i, bye in enumerate(codes):
            for pairing in every_pairing(codes[:i] + codes[i + 1 :], odd):
                yield Pairing(pairing.pairs, bye)
        return
    if not codes:
        yield Pairing(())
        return
    one, rest = codes[0], codes[1:]
    for i, other in enumerate(rest):
        for pairing in every_pairing(rest[:i] + rest[i + 1 :], odd):
            yield Pairing(((one, other), *pairing.pairs))
            if odd:
                yield Pairing(((other, one), *pairing.pairs))


@st.composite
def fields(draw: st.DrawFn) -> list[Entrant]:
    codes = "abcdefg"[: draw(st.integers(2, 7))]
    met: dict[str, dict[str, int]] = {code: {} for code in codes}
    for i, one in enumerate(codes):
        for other in codes[:i]:
            met[one][other] = met[other][one] = draw(st.sampled_from([0, 0, 1, 1, 2]))
    return [
        Entrant(
            code,
            draw(st.integers(0, 4)),
            met[code],
            draw(st.integers(0, 1)),
            draw(st.integers(-2, 2)),
        )
        for code in codes
    ]


@hypothesis.settings(deadline=None)
@given(fields(), st.booleans())
def test_no_pairing_is_better(field: list[Entrant], odd: bool) -> None:
    pairing = pair_round(field, one_more_first=odd)
    codes = [entrant.code for entrant in field]
    assert sorted([*sum(pairing.pairs, ()), *([pairing.bye] if pairing.bye else [])]) == codes
    best = min(judged(field, other, odd) for other in every_pairing(codes, odd))
    assert judged(field, pairing, odd) == best


# whole tournaments


@pytest.mark.slow
@hypothesis.settings(deadline=None)
@given(st.integers(2, 40), st.integers(1, 12), st.booleans(), st.randoms(use_true_random=False))
def test_whole_tournament_keeps_the_rules(
    count: int, rounds: int, odd: bool, rng: random.Random
) -> None:
    codes = [f"p{i:02}" for i in range(count)]
    points, byes, balance = (dict.fromkeys(codes, 0) for _ in range(3))
    met: dict[str, dict[str, int]] = {code: {} for code in codes}
    for _ in range(rounds):
        field = [Entrant(c, points[c], met[c], byes[c], balance[c]) for c in codes]
        pairing = pair_round(field, one_more_first=odd)
        paired = [code for pair in pairing.pairs for code in pair]
        assert sorted([*paired, *([pairing.bye] if pairing.bye else [])]) == codes
        assert (pairing.bye is None) == (count % 2 == 0)
        if pairing.bye is not None:
            assert byes[pairing.bye] == min(byes.values())
        for one, other in pairing.pairs:
            met[one][other] = met[other][one] = met[one].get(other, 0) + 1
            won = rng.choice([0, 1, 2])
            points[one] += won
            points[other] += 2 - won
            balance[one] += odd
            balance[other] -= odd
        if pairing.bye is not None:
            byes[pairing.bye] += 1
            points[pairing.bye] += 2
    assert max(byes.values()) - min(byes.values()) <= 1


def round_scores(*games: str) -> dict[str, RoundScore]:
    """Return the scores of a round from "ab 2-0" and "c bye 2"."""
    pairing: dict[str, RoundScore] = {}
    for game in games:
        who, *rest = game.split()
        if rest[0] == "bye":
            pairing[who] = RoundScore(None, float(rest[1]))
            continue
        first, second = map(float, rest[0].split("-"))
        pairing[who[0]] = RoundScore(who[1], first, second)
        pairing[who[1]] = RoundScore(who[0], second, first)
    return pairing


def order(codes: str, rounds: list[RoundScores]) -> list[tuple[str, int]]:
    return [(score.code, score.place) for score in ranking(codes, rounds)]


def score_of(code: str, codes: str, rounds: list[RoundScores]) -> Score:
    return next(score for score in ranking(codes, rounds) if score.code == code)


def test_all_places_are_equal_before_the_first_round() -> None:
    assert ranking("ba", []) == [Score("b", 1, 0.0, 0.0, 0.0), Score("a", 1, 0.0, 0.0, 0.0)]


# four players, all against all: a 2½, b 2, c 1½, d 0
ROUNDS: list[RoundScores] = [
    round_scores("ab 1-0", "cd 1-0"),
    round_scores("ac 0.5-0.5", "bd 1-0"),
    round_scores("ad 1-0", "bc 1-0"),
]


def test_buchholz_leaves_out_the_least_of_the_opponents() -> None:
    points = {code: score_of(code, "abcd", ROUNDS).points for code in "abcd"}
    assert points == {"a": 2.5, "b": 2, "c": 1.5, "d": 0}
    buchholz = {code: score_of(code, "abcd", ROUNDS).buchholz_cut_1 for code in "abcd"}
    assert buchholz == {"a": 2 + 1.5, "b": 2.5 + 1.5, "c": 2.5 + 2, "d": 2.5 + 2}


def test_sonneborn_berger_weights_points_by_the_opponents_points() -> None:
    pairing = {code: score_of(code, "abcd", ROUNDS).sonneborn_berger for code in "abcd"}
    assert pairing == {"a": 2 + 0.75 + 0, "b": 0 + 1.5, "c": 0.5 * 2.5 + 0, "d": 0}


def test_bye_counts_as_an_opponent_of_the_same_points() -> None:
    rounds: list[RoundScores] = [
        round_scores("ab 1-0", "c bye 1"),
        round_scores("ac 0-1", "b bye 1"),
    ]
    score = score_of("c", "abc", rounds)
    assert (score.points, score.buchholz_cut_1, score.sonneborn_berger) == (2, 2, 2 + 1)


def test_round_that_one_was_not_in_counts_as_an_opponent_without_points() -> None:
    rounds: list[RoundScores] = [round_scores("ab 1-0"), round_scores("ac 1-0", "b bye 1")]
    score = score_of("c", "abc", rounds)
    assert (score.buchholz_cut_1, score.sonneborn_berger) == (2, 0)


def test_direct_encounter_breaks_the_last_ties() -> None:
    # everybody has one point of three, and everything else is alike, too
    rounds: list[RoundScores] = [round_scores("ab 1-0", "cd 1-0"), round_scores("ad 0-1", "bc 1-0")]
    table = ranking("abcd", rounds)
    assert {(s.points, s.buchholz_cut_1, s.sonneborn_berger) for s in table} == {(1, 1, 1)}
    # a and c have not met: nothing is known
    assert [(s.place, s.direct_encounter) for s in table] == [(1, None)] * 4
    two: list[RoundScores] = [
        round_scores("ab 0-1", "cd 0-1"),
        round_scores("ac 1-0", "bd 0-1"),
        round_scores("ad 0-1", "bc 0-1"),
    ]
    # a, b and c have a win each against one another
    assert order("abcd", two) == [("d", 1), ("a", 2), ("b", 2), ("c", 2)]
    assert [score.direct_encounter for score in ranking("abcd", two)] == [None, 1, 1, 1]


def test_winner_of_the_game_between_two_is_before_the_other() -> None:
    rounds: list[RoundScores] = [
        round_scores("ab 0-1", "cd 0.5-0.5"),
        round_scores("ac 1-0", "bd 0-1"),
        round_scores("ad 0.5-0.5", "bc 0.5-0.5"),
    ]
    for codes in ("abcd", "dcba"):
        a, b = score_of("a", codes, rounds), score_of("b", codes, rounds)
        assert (a.points, a.buchholz_cut_1, a.sonneborn_berger) == (1.5, 3.5, 2)
        assert (b.points, b.buchholz_cut_1, b.sonneborn_berger) == (1.5, 3.5, 2)
        assert (a.direct_encounter, b.direct_encounter) == (0, 1)
        assert order(codes, rounds) == [("d", 1), ("b", 2), ("a", 3), ("c", 4)]


def test_same_place_is_shared_and_the_next_one_skipped() -> None:
    table = ranking("abcd", [round_scores("ab 1-1", "cd 2-0")])
    assert [(score.code, score.place) for score in table] == [
        *(("c", 1), ("a", 2), ("b", 2), ("d", 4))
    ]
