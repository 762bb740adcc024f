"""The pairing of a round: the best of all pairings, whatever came before."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.swiss_pairing import Entrant, Pairing, pair_round


def entrants(*points: int, **more: Any) -> list[Entrant]:
    """Entrants a, b, c, … with these half points."""
    return [Entrant(chr(ord("a") + i), p, **more) for i, p in enumerate(points)]


def pairs(found: Pairing) -> str:
    bye = [] if found.bye is None else [found.bye]
    return " ".join(["".join(pair) for pair in found.pairs] + bye)


def test_first_round_has_the_upper_half_meet_the_lower_half_in_order() -> None:
    assert pairs(pair_round(entrants(*[0] * 8), one_more_first=False)) == "ae bf cg dh"


def test_last_seed_has_the_first_bye() -> None:
    assert pairs(pair_round(entrants(*[0] * 7), one_more_first=False)) == "ad be cf g"


def test_each_group_is_paired_by_halves() -> None:
    found = pair_round(entrants(4, 2, 4, 2, 4, 2, 4, 2), one_more_first=False)
    assert pairs(found) == "ae cg bf dh"


def test_odd_group_sends_its_last_to_the_first_of_the_next() -> None:
    found = pair_round(entrants(4, 4, 4, 4, 4, 2, 2, 2), one_more_first=False)
    assert pairs(found) == "ac bd ef gh"


def test_nobody_meets_the_same_opponent_while_there_is_another() -> None:
    field = [
        Entrant("a", 4, {"b": 1}),
        Entrant("b", 4, {"a": 1}),
        Entrant("c", 0, {"d": 1}),
        Entrant("d", 0, {"c": 1}),
    ]
    assert pairs(pair_round(field, one_more_first=False)) == "ac bd"


def test_third_meeting_is_worse_than_two_second_ones() -> None:
    field = [
        Entrant("a", 0, {"b": 2, "c": 1, "d": 2}),
        Entrant("b", 0, {"a": 2, "c": 2, "d": 1}),
        Entrant("c", 0, {"a": 1, "b": 2, "d": 2}),
        Entrant("d", 0, {"a": 2, "b": 1, "c": 2}),
    ]
    assert pairs(pair_round(field, one_more_first=False)) == "ac bd"


def test_bye_goes_to_the_last_that_had_none() -> None:
    field = [Entrant("a", 6), Entrant("b", 4), Entrant("c", 2, byes=1)]
    assert pair_round(field, one_more_first=False).bye == "b"


def test_second_bye_is_avoided_even_by_a_rematch() -> None:
    field = [
        Entrant("a", 6, {"b": 1}),
        Entrant("b", 4, {"a": 1}, byes=1),
        Entrant("c", 2, byes=1),
    ]
    assert pairs(pair_round(field, one_more_first=False)) == "bc a"
    field[1] = Entrant("b", 4, {"a": 1, "c": 1}, byes=1)
    assert pair_round(field, one_more_first=False).bye == "a"


def test_who_moved_first_more_often_moves_second() -> None:
    field = [Entrant("a", 2, balance=1), Entrant("b", 2, balance=-1)]
    assert pairs(pair_round(field, one_more_first=True)) == "ba"
    assert pairs(pair_round(field, one_more_first=False)) == "ab"


def test_players_that_are_due_the_same_colour_are_kept_apart_in_their_group() -> None:
    field = [
        Entrant("a", 2, balance=1),
        Entrant("b", 2, balance=-1),
        Entrant("c", 2, balance=1),
        Entrant("d", 2, balance=-1),
    ]
    assert pairs(pair_round(field, one_more_first=True)) in ("ba dc", "da bc")
    # but not at the price of unequal points
    field[2:] = [Entrant("c", 0, balance=1), Entrant("d", 0, balance=-1)]
    field[1] = Entrant("b", 2, balance=1)
    assert {frozenset(pair) for pair in pair_round(field, one_more_first=True).pairs} == {
        frozenset("ab"),
        frozenset("cd"),
    }


def test_first_move_of_level_players_goes_from_board_to_board() -> None:
    assert pairs(pair_round(entrants(0, 0, 0, 0, 0, 0), one_more_first=True)) == "ad eb cf"


# every pairing of a small field, judged by the rules themselves

Judgement = tuple[int, int, int, int]


def judged(field: Sequence[Entrant], found: Pairing, odd: bool) -> Judgement:
    """How bad a pairing is by the first four rules, written down independently."""
    by_code = {entrant.code: entrant for entrant in field}
    fewest = min(entrant.byes for entrant in field)
    byes = 0 if found.bye is None else by_code[found.bye].byes - fewest
    met = difference = imbalance = 0
    for one, other in found.pairs:
        first, second = by_code[one], by_code[other]
        met += first.met.get(second.code, 0) ** 2
        difference += (first.points - second.points) ** 2
        if odd:
            imbalance += (first.balance + 1) ** 2 + (second.balance - 1) ** 2
    if found.bye is not None:
        last = min(entrant.points for entrant in field)
        difference += (by_code[found.bye].points - last) ** 2
        imbalance += by_code[found.bye].balance ** 2 if odd else 0
    return byes, met, difference, imbalance


def every_pairing(codes: list[str], odd: bool) -> Iterator[Pairing]:
    if len(codes) % 2:
        for i, bye in enumerate(codes):
            for found in every_pairing(codes[:i] + codes[i + 1 :], odd):
                yield Pairing(found.pairs, bye)
        return
    if not codes:
        yield Pairing(())
        return
    one, rest = codes[0], codes[1:]
    for i, other in enumerate(rest):
        for found in every_pairing(rest[:i] + rest[i + 1 :], odd):
            yield Pairing(((one, other), *found.pairs))
            if odd:
                yield Pairing(((other, one), *found.pairs))


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


@hypothesis.settings(max_examples=150, deadline=None)
@given(fields(), st.booleans())
def test_no_pairing_is_better(field: list[Entrant], odd: bool) -> None:
    found = pair_round(field, one_more_first=odd)
    codes = [entrant.code for entrant in field]
    assert sorted([*sum(found.pairs, ()), *([found.bye] if found.bye else [])]) == codes
    best = min(judged(field, other, odd) for other in every_pairing(codes, odd))
    assert judged(field, found, odd) == best


# whole tournaments

PRIME = (1 << 61) - 1


def can_be_paired(codes: Sequence[str], allowed: set[frozenset[str]], rng: random.Random) -> bool:
    """Whether pairs from `allowed` can cover everybody: by the determinant of the
    graph's Tutte matrix at a random point (Lovász, 1979), which errs, never
    saying yes wrongly, once in about PRIME / len(codes) times."""
    size = len(codes)
    matrix = [[0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i):
            if frozenset((codes[i], codes[j])) in allowed:
                matrix[i][j] = rng.randrange(1, PRIME)
                matrix[j][i] = PRIME - matrix[i][j]
    for i in range(size):
        pivot = next((r for r in range(i, size) if matrix[r][i]), None)
        if pivot is None:
            return False
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        inverse = pow(matrix[i][i], -1, PRIME)
        for row in matrix[i + 1 :]:
            if row[i]:
                factor = row[i] * inverse % PRIME
                for k in range(i, size):
                    row[k] = (row[k] - factor * matrix[i][k]) % PRIME
    return True


@hypothesis.settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(1, 12), st.booleans(), st.randoms(use_true_random=False))
def test_whole_tournament_keeps_the_rules(
    count: int, rounds: int, odd: bool, rng: random.Random
) -> None:
    codes = [f"p{i:02}" for i in range(count)]
    points, byes, balance = (dict.fromkeys(codes, 0) for _ in range(3))
    met: dict[str, dict[str, int]] = {code: {} for code in codes}
    for _ in range(rounds):
        field = [Entrant(c, points[c], met[c], byes[c], balance[c]) for c in codes]
        found = pair_round(field, one_more_first=odd)
        paired = [code for pair in found.pairs for code in pair]
        assert sorted([*paired, *([found.bye] if found.bye else [])]) == codes
        assert (found.bye is None) == (count % 2 == 0)
        if found.bye is not None:
            assert byes[found.bye] == min(byes.values())
        # a rematch only where nothing else would do
        fresh = {frozenset((a, b)) for a in codes for b in codes if a != b and not met[a].get(b)}
        rematch = any(frozenset(pair) not in fresh for pair in found.pairs)
        if found.bye is not None:
            fresh |= {frozenset((c, "bye")) for c in codes if byes[c] == min(byes.values())}
        everybody = codes if found.bye is None else [*codes, "bye"]
        assert rematch != can_be_paired(everybody, fresh, rng)
        for one, other in found.pairs:
            met[one][other] = met[other][one] = met[one].get(other, 0) + 1
            won = rng.choice([0, 1, 2])
            points[one] += won
            points[other] += 2 - won
            balance[one] += odd
            balance[other] -= odd
        if found.bye is not None:
            byes[found.bye] += 1
            points[found.bye] += 2
    assert max(byes.values()) - min(byes.values()) <= 1
