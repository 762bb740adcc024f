"""The page's boards in Chromium, under the page's content security policy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringmaster.model.board import BoardGame
from ringmaster.reporting.page import content_policy, script_json
from tests.browsers import silent_page

pytestmark = [pytest.mark.slow, pytest.mark.optional]

BOARDS = Path(__file__).parents[2] / "ringmaster/reporting/page/static/boards"
COMMON: dict[str, Any] = {
    "number": 3,
    "id": "0_02",
    "players": ("<img src=x onerror=alert(1)>", "b"),
    "result": "1-0",
    "reason": "mate",
}
CHESS = BoardGame(
    game="chess",
    moves="e4 d5 exd5 c6 dxc6 Nf6 cxb7 Nc6 bxa8=Q Ng4 Nf3 Nf6 Be2 Ng4 O-O",
    scores=(31, None, 120, 90, 99_997, *[None] * 9, -99_999),
    depths=(12, *[None] * 14),
    ms=(500, *[1500] * 14),
    clocks=(59_500, 58_500, *[None] * 13),
    comments=((2, "</script><script>alert(1)</script>"),),
    **COMMON,
)
SHOGI = BoardGame(game="shogi", moves="7g7f 3c3d 8h2b+ 3a2b B*5e 4a5b 5e2b+", **COMMON)
GO = BoardGame(
    game="go",
    size=9,
    setup="E5",
    first=1,
    moves="E6 A1 D5 A2 F5 A3 E4 pass B2",
    **COMMON,
)
#: Pieces on the screen by square, and pieces of the position that `goto` last showed.
PIECES = """() => Object.fromEntries([
  ...[...document.querySelectorAll("cg-board piece:not(.fading)")]
    .map((e) => [e.cgKey, e.className.split(" ").slice(0, 2).join(" ")]),
  ...[...document.querySelectorAll("sg-pieces piece:not(.fading)")]
    .map((e) => [e.sgKey, `${e.sgColor} ${e.sgRole}`]),
  ...[...document.querySelectorAll(".shudan-sign_1.shudan-vertex, .shudan-sign_-1.shudan-vertex")]
    .map((e) => [`${e.dataset.x} ${e.dataset.y}`, e.classList.contains("shudan-sign_1")]),
].sort())"""
EXPECTED = """(ply) => {
  const position = ringmasterRules.play(game).positions[ply];
  const colours = { chess: ["white", "black"], shogi: ["sente", "gote"] };
  const pieces = [];
  if (game.game === "go") {
    position.board.forEach((row, y) => row.forEach((sign, x) => {
      if (sign) pieces.push([`${x} ${y}`, sign === 1]);
    }));
  } else position.pieces.forEach((own, side) => own.forEach((text) => {
    const [, name, square] = /^(.*) (.*)$/.exec(text);
    pieces.push([square, `${colours[game.game][side]} ${name.replace(" ", "")}`]);
  }));
  return Object.fromEntries(pieces.sort());
}"""


def document(game: BoardGame) -> str:
    """Return a page with one board."""
    names = ("../util.js", "vendor.js", "rules.js", "boards.js")
    scripts = [(BOARDS / name).read_text(encoding="utf-8") for name in names]
    scripts.append(
        'const game = JSON.parse(document.getElementById("data").textContent);'
        'const board = ringmasterBoards.mount(document.querySelector("main"), game);'
    )
    styles = [(BOARDS / name).read_text(encoding="utf-8") for name in ("vendor.css", "boards.css")]
    policy = content_policy(scripts, styles)
    return "".join(
        (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Board</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            *(f"<style>{style}</style>" for style in styles),
            f'<main></main><script type="application/json" id="data">{script_json(game)}</script>',
            *(f"<script>{script}</script>" for script in scripts),
        )
    )


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    with silent_page(browser) as opened:
        opened.folder = tmp_path
        yield opened


def show(page: Any, game: BoardGame) -> None:
    file = page.folder / "board.html"
    file.write_text(document(game), encoding="utf-8")
    page.goto(file.as_uri())
    page.evaluate("board.focus()")


def shown_pieces(page: Any) -> dict[str, Any]:
    # the boards draw in the next frame
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    pieces: dict[str, Any] = page.evaluate(PIECES)
    return pieces


@pytest.mark.parametrize("game", [CHESS, SHOGI, GO], ids=lambda game: game.game)
def test_a_game_is_played_through_with_the_keyboard(page: Any, game: BoardGame) -> None:
    show(page, game)
    count = len(game.moves.split())
    for ply in range(count + 1):
        assert shown_pieces(page) == page.evaluate(EXPECTED, ply)
        page.keyboard.press("ArrowRight")
    assert shown_pieces(page) == page.evaluate(EXPECTED, count)
    page.keyboard.press("Home")
    assert shown_pieces(page) == page.evaluate(EXPECTED, 0)
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert shown_pieces(page) == page.evaluate(EXPECTED, count - 1)


@pytest.mark.parametrize("game", [CHESS, SHOGI, GO], ids=lambda game: game.game)
def test_buttons_slider_moves_and_graph_go_to_a_position(page: Any, game: BoardGame) -> None:
    show(page, game)
    current = page.locator(".rb-move[aria-current]")
    page.get_by_role("button", name="Next move").click()
    assert current.get_attribute("data-ply") == "1"
    page.get_by_role("button", name="Last move").click()
    assert current.get_attribute("data-ply") == str(len(game.moves.split()))
    page.get_by_role("button", name="First position").click()
    assert current.count() == 0
    page.locator(".rb-move").nth(3).click()
    assert page.get_by_role("slider").input_value() == "4"
    page.get_by_role("slider").fill("2")
    assert current.get_attribute("data-ply") == "2"
    before = page.locator(".rb-name").first.inner_text()
    page.get_by_role("button", name="Turn the board").click()
    assert page.locator(".rb-name").last.inner_text() == before
    assert page.locator(".rb-graph").count() == (game.game == "chess")


def test_a_position_has_clocks_score_comment_and_words(page: Any) -> None:
    show(page, CHESS)
    page.evaluate("board.goto(3)")
    assert page.locator(".rb-clock").all_inner_texts() == ["0:58.5", "0:59.5"]
    info = page.locator(".rb-info").inner_text()
    assert "2. exd5 · score +1.20 · 1.50 s" in info
    assert "</script><script>alert(1)</script>" in info
    live = page.locator("[aria-live]").text_content()
    assert live == "2. White pawn e4 to d5, takes a pawn, score +1.20"
    assert "pawn d5" in page.locator(".rb-frame").get_attribute("aria-label")
    page.evaluate("board.goto(5)")
    assert "score +M3" in page.locator(".rb-info").inner_text()
    assert COMMON["players"][0] in page.locator(".rb-name").last.inner_text()


def test_a_go_game_shows_winrates_of_black_over_the_game_and_for_each_move(page: Any) -> None:
    searched = msgspec.structs.replace(
        GO,
        scores=(1234, None, -5000, *[None] * 6),
        leads=(2.5, None, -81.0, *[None] * 6),
        comments=((0, "812 visits, pv E6 A1"),),
    )
    show(page, searched)
    page.evaluate("board.goto(1)")
    info = page.locator(".rb-info").inner_text()
    assert "1. E6 · Black 62.3% +2.5 points" in info
    assert "812 visits, pv E6 A1" in info
    assert (page.locator("[aria-live]").text_content() or "").endswith(", Black 62.3% +2.5 points")
    page.evaluate("board.goto(3)")
    assert "Black 0.0% −81.0 points" in page.locator(".rb-info").inner_text()
    page.evaluate("board.goto(2)")
    assert "Black" not in page.locator(".rb-info").inner_text()
    graph = page.locator(".rb-graph")
    assert graph.locator(".rb-legend").inner_text().endswith("and b: winrate of Black")
    assert graph.locator(".rb-tick").all_inner_texts() == ["75%", "50%", "25%"]
    name = graph.locator("svg").get_attribute("aria-label")
    assert name == "Curves: winrate of Black; lowest 0.0%, highest 62.3%"
    # White moves first; certainty is at the edge
    assert graph.locator(".rb-line-1").get_attribute("d") == "M1 37.7L3 100.0"


def test_automatic_play_runs_to_the_end_and_a_key_stops_it(page: Any) -> None:
    page.clock.install()
    show(page, GO)
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(2500)
    assert page.get_by_role("slider").input_value() == "3"
    page.keyboard.press("ArrowLeft")
    page.clock.run_for(5000)
    assert page.get_by_role("slider").input_value() == "2"
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(60_000)
    assert page.get_by_role("slider").input_value() == "9"
    assert page.get_by_role("button", name="Play").count() == 1


def test_all_boards_together_weigh_at_most_450_kilobytes() -> None:
    files = [path for path in BOARDS.iterdir() if path.suffix in (".js", ".css")]
    assert sum(path.stat().st_size for path in files) <= 450_000
