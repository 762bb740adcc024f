"""Real games of chess, shogi and Go, played through on the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ringmaster import load
from tests.browsers import silent_page
from tests.program import ringmaster
from tests.requirements import engine

pytestmark = [pytest.mark.real, pytest.mark.slow]

SOURCE = """
competition_type = "playoff"
game = {game!r}
{limits}
players = {{"a": Player({command}), "b": Player({command})}}
matchups = [Matchup("a", "b", number_of_games=2)]
"""


@pytest.mark.parametrize(
    ("game", "name", "words", "limits", "pieces"),
    [
        ("chess", "stockfish", "", "nodes = 300", "cg-board piece"),
        ("shogi", "fairy-stockfish", "", "nodes = 300", "sg-pieces piece"),
        ("go", "gnugo", "--mode=gtp --level=1", "board_size = 7\nkomi = 6.5", ".shudan-stone"),
    ],
)
def test_real_game_is_played_through_from_the_table_of_games(
    browser: Any, tmp_path: Path, game: str, name: str, words: str, limits: str, pieces: str
) -> None:
    control = tmp_path / "match.ctl"
    command = repr(f"{engine(name)} {words}".strip())
    control.write_text(SOURCE.format(game=game, command=command, limits=limits))
    for arguments in (["run", "-q", "-j", "2"], ["report"]):
        done = ringmaster(control, *arguments)
        assert done.returncode == 0, done.stderr
    newest = load(control).games[-1]
    with silent_page(browser) as page:
        page.context.set_offline(True)
        page.goto(control.with_suffix(".html").as_uri())
        page.locator("#games tbody button").first.click()
        page.wait_for_selector(f"dialog#game {pieces}", state="attached")
        assert page.locator("dialog#game .rb-move").count() >= newest.plies
        page.keyboard.press("Home")
        for _ in range(newest.plies):
            page.keyboard.press("ArrowRight")
        current = page.locator("dialog#game .rb-move[aria-current]")
        assert current.inner_text() == page.locator("dialog#game .rb-move").last.inner_text()
        assert newest.score in page.inner_text("dialog#game")
