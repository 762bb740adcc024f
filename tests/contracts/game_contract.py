"""Test the contract of every implementation of a game's rules.

Subclass `GameContract` in a test module and define `new_game` and `moves_to_try`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ringmaster.errors import IllegalMove
from ringmaster.games.game import Ending, Game

#: Strings that resemble moves, or have confused earlier referees.
BAD_MOVES = (
    "",
    "0000",
    "(none)",
    " e2e4",
    "e2e4\n",
    "E2E4",
    "e7e8k",
    "e1a1",
    "P@e4",
    "resign",
    "D0",
    "I5",
    "d٤",
    "Ⅾ4",
    "ſ4",
    "paß",
    "pass ",
    "e2e4\0",
    "\ud800",
    "d4" * 100_000,
)

# several subclasses run the same test function
shared = settings(deadline=None, suppress_health_check=[HealthCheck.differing_executors])


class GameContract:
    def new_game(self) -> Game:
        """Return a game at its start."""
        raise NotImplementedError

    def moves_to_try(self, game: Game, rng: random.Random) -> Sequence[str]:
        """Return strings in random order; at least one is legal unless the game is over."""
        raise NotImplementedError

    def advance(self, game: Game, rng: random.Random, plies: int) -> None:
        """Play up to `plies` random moves."""
        for _ in range(plies):
            if game.ending() is not None:
                return
            for move in self.moves_to_try(game, rng):
                try:
                    game.play(move)
                except IllegalMove:
                    continue
                break
            else:
                pytest.fail(f"no move can be played in {game.position()}")

    @given(st.integers(0, 1 << 32))
    @shared
    def test_a_move_is_either_played_or_refused_without_a_trace(self, seed: int) -> None:
        rng = random.Random(seed)
        game = self.new_game()
        for _ in range(rng.randrange(60)):
            if game.ending() is not None:
                break
            for move in self.moves_to_try(game, rng):
                side, moves, position = game.to_move, list(game.moves), game.position()
                ending = game.ending()
                refusal = None
                try:
                    game.play(move)
                except IllegalMove as error:
                    refusal = error
                if refusal is not None:
                    assert refusal.move == move
                    assert refusal.position == position
                    assert refusal.reason
                    assert game.to_move == side
                    assert game.moves == moves
                    assert game.position() == position
                    assert game.ending() == ending
                else:
                    assert game.to_move == 1 - side
                    assert game.moves[:-1] == moves
                    assert game.moves[-1].lower() == move.lower()
                    assert game.position() != position
                    break

    @given(st.integers(0, 1 << 32))
    @shared
    def test_the_moves_of_a_game_replay_to_the_same_game(self, seed: int) -> None:
        game = self.new_game()
        self.advance(game, random.Random(seed), 60)
        again = self.new_game()
        for move in game.moves:
            again.play(move)
        assert again.moves == game.moves
        assert game.position().isprintable()
        assert again.position() == game.position()
        assert again.to_move == game.to_move
        assert again.ending() == game.ending()

    @given(
        st.integers(0, 20),
        st.one_of(
            st.text(),
            st.text("abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789", max_size=6),
            st.from_regex("[a-i][0-9][a-i][0-9][nbrqkpNBRQ]?", fullmatch=True),
        ),
    )
    @example(0, "paß")
    @shared
    def test_no_string_raises_anything_but_illegal_move(self, plies: int, text: str) -> None:
        game = self.new_game()
        self.advance(game, random.Random(plies), plies)
        position = game.position()
        try:
            game.play(text)
        except IllegalMove:
            assert game.position() == position
        else:
            assert game.moves[-1].lower() == text.lower()

    @pytest.mark.parametrize("text", BAD_MOVES, ids=range(len(BAD_MOVES)))
    def test_a_string_that_only_resembles_a_move_is_refused(self, text: str) -> None:
        game = self.new_game()
        with pytest.raises(IllegalMove) as caught:
            game.play(text)
        assert game.moves == []
        assert len(caught.value.move) <= 40
        assert len(str(caught.value)) < 2500
        assert str(caught.value).isprintable()

    def test_new_game_has_no_ending_and_the_first_player_is_to_move(self) -> None:
        game = self.new_game()
        assert game.ending() is None
        assert game.to_move == 0
        assert game.moves == []
        first, second = game.colours
        assert first != second

    def test_second_call_of_ending_returns_the_same(self) -> None:
        rng = random.Random(2)
        for _ in range(10):
            game = self.new_game()
            self.advance(game, rng, 1000)
            ending = game.ending()
            if ending is not None:
                break
        assert isinstance(ending, Ending)
        assert game.ending() == ending
        assert ending.winner in (None, 0, 1)
        assert ending.reason
