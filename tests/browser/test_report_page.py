"""The page of a report in Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringmaster import load
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.page_data import make_page
from ringmaster.reporting.page import render_page
from ringmaster.storage.store import Store
from tests.browser.conftest import KINDS
from tests.browsers import silent_page
from tests.program import ringmaster
from tests.recorded import TUNE, USAGE, recorded, ticket, won, write
from tests.requirements import package

pytestmark = [pytest.mark.slow, pytest.mark.optional]

HOSTILE = "<script>alert(1)</script>'\"><img src=x onerror=alert(2)>\u202e\x1b[31m{{7*7}}"


def open_file(page: Any, path: Path) -> None:
    """Open a page without any network."""
    page.context.set_offline(True)
    page.goto(path.as_uri())


@pytest.mark.parametrize("kind", KINDS)
def test_page_shows_the_values_of_the_store(
    competition: Callable[[str], Path], page: Any, kind: str
) -> None:
    control = competition(kind)
    open_file(page, control.with_suffix(".html"))
    data = json.loads(ringmaster(control, "show", "--json").stdout)
    assert page.inner_text("#verdict") == data["verdict"]
    assert page.inner_text("#verdict-end") == data["verdict"]
    if kind != "TEXEL":
        facts = page.eval_on_selector_all("#facts dd", TEXTS)
        assert any(f"{data['games']['completed']:,}" in value for value in facts)
    # every table of the text report is there, cell by cell
    report = " ".join(control.with_suffix(".report").read_text().split())
    for row in page.eval_on_selector_all("#main tbody tr", ROWS):
        assert " ".join(" ".join(row).split()) in report
    assert page.locator("figure").count() > 0
    assert page.eval_on_selector_all(
        "figure", "all => all.every(f => f.getBoundingClientRect().height > 30)"
    )


NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
HEIGHTS = "all => all.map(e => e.getBoundingClientRect().height)"
TEXTS = "all => all.map(e => e.innerText)"
LINES = """cell => {
    const range = document.createRange();
    range.selectNodeContents(cell.querySelector("button") ?? cell);
    return new Set([...range.getClientRects()].map(box => box.top)).size;
}"""
ROWS = "all => all.map(row => [...row.cells].map(cell => cell.textContent))"


# other tunes have the same tables and charts
@pytest.mark.parametrize("kind", ["PLAYOFF", "SWISS", "SPSA", "TEXEL"])
def test_page_has_no_serious_fault_of_accessibility_in_either_colours(
    competition: Callable[[str], Path], browser: Any, kind: str
) -> None:
    axe = Path(str(package("axe_playwright_python").__file__)).with_name("axe.min.js")
    with silent_page(browser, bypass_csp=True) as page:
        open_file(page, competition(kind).with_suffix(".html"))
        page.add_script_tag(path=str(axe))
        found = []
        for colours in ("light", "dark"):
            page.emulate_media(color_scheme=colours)
            page.evaluate(NEXT_FRAME)
            found += page.evaluate("async () => (await axe.run()).violations")
    serious = [
        (fault["id"], fault["nodes"][0]["html"][:200])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("kind", KINDS)
def test_page_never_scrolls_sideways(
    competition: Callable[[str], Path], page: Any, kind: str
) -> None:
    open_file(page, competition(kind).with_suffix(".html"))
    for width in (390, 800, 1400):
        page.set_viewport_size({"width": width, "height": 800})
        # the page follows a new width in the next frames
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)


def test_numbers_of_games_are_whole_on_a_phone(
    competition: Callable[[str], Path], page: Any
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    open_file(page, competition("PLAYOFF").with_suffix(".html"))
    cells = page.locator("#games tbody tr").first.locator("td")
    for column in (0, 2, 4, 5):
        assert cells.nth(column).evaluate(LINES) == 1
    # a button of a table hides no header
    button = page.locator("#conditions .tools").bounding_box()
    header = page.locator("#conditions thead").bounding_box()
    assert button["y"] + button["height"] <= header["y"] + 1


def test_results_and_values_are_copied_by_buttons_of_their_own(
    competition: Callable[[str], Path], page: Any
) -> None:
    open_file(page, competition("SPSA").with_suffix(".html"))
    texts = page.eval_on_selector_all("#copies p", TEXTS)
    assert [text.split("\n")[0] for text in texts] == ["Copy the result as", "Copy the values as"]
    names = page.eval_on_selector_all("#copies p:first-child button", TEXTS)
    assert names == ["fastchess", "openbench"]


def test_counts_have_whole_ticks_and_every_player_has_its_name(
    competition: Callable[[str], Path], page: Any
) -> None:
    open_file(page, competition("PLAYOFF").with_suffix(".html"))
    draw = """([names, values]) => {
        const series = [{ name: "", role: "main", values }];
        const chart = { names, series, title: "", note: "", x_label: "", y_label: "games" };
        const box = document.createElement("div");
        box.style.width = "240px";
        document.getElementById("content").prepend(box);
        page.drawBars(box, chart, "tiny");
        return new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(box.innerText
            || [...box.querySelectorAll("text")].map((text) => text.textContent).join("\\n")))));
    }"""
    ticks = page.evaluate(draw, [["mate"], [12]]).split("\n")
    assert ticks == ["0", "5", "10", "mate", "games"]
    names = [f"engine {i}" for i in range(6)]
    shown = page.evaluate(draw, [names, [1, 2, 3, 4, 5, 6]]).split("\n")
    assert [text for text in shown if text.startswith("engine")] == names


def test_line_charts_zoom_and_tell_values(competition: Callable[[str], Path], page: Any) -> None:
    open_file(page, competition("SPSA").with_suffix(".html"))
    plot = page.locator("#trajectory .u-over").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert re.search(r"\d", page.locator("#trajectory figure").first.inner_text())
    ticks = "() => document.querySelector('#trajectory figure').querySelector('canvas').toDataURL()"
    before = page.evaluate(ticks)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    page.wait_for_function(f"before => ({ticks})() !== before", arg=before)
    plot.dblclick()


#: Whether each chart has drawn something.  It reads a copy: Chromium writes a warning to the
#: console where a page reads a canvas itself more than once, as it does while a chart is late.
DRAWN = """() => [...document.querySelectorAll(".plot")].every((plot) => {
    const canvas = plot.querySelector("canvas");
    if (!canvas) return false;
    const { width, height } = canvas;
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return copy.getImageData(0, 0, width, height).data.some((value) => value > 0);
})"""
#: How far charts reach beyond their figures on a narrower paper, before they could be drawn again.
BEYOND = """() => {
    document.body.style.width = "700px";
    const right = (element) => element.getBoundingClientRect().right;
    return [...document.querySelectorAll(".plot canvas")].map(
        (canvas) => right(canvas) - right(canvas.closest("figure")));
}"""


def test_all_charts_are_drawn_without_scrolling_for_a_picture_of_the_whole_page(
    competition: Callable[[str], Path], page: Any
) -> None:
    page.set_viewport_size({"width": 1000, "height": 400})
    open_file(page, competition("SPSA").with_suffix(".html"))
    assert page.locator(".plot").count() > 3
    page.wait_for_function(DRAWN)
    assert page.evaluate("scrollY") == 0


def test_charts_are_printed_at_the_width_of_the_paper(
    competition: Callable[[str], Path], page: Any
) -> None:
    page.set_viewport_size({"width": 1400, "height": 800})
    open_file(page, competition("SPSA").with_suffix(".html"))
    page.wait_for_function(DRAWN)
    page.emulate_media(media="print")
    beyond = page.evaluate(BEYOND)
    assert len(beyond) > 3
    assert max(beyond) <= 1


def test_games_filter_sort_and_open_by_keyboard(
    competition: Callable[[str], Path], page: Any
) -> None:
    control = competition("PLAYOFF")
    open_file(page, control.with_suffix(".html"))
    games = load(control).games
    rows = page.locator("#games tbody tr")
    assert rows.count() == min(50, len(games))
    page.fill("#games input[type=search]", "c")
    expected = [game for game in games if "c" in game.players]
    assert 0 < rows.count() <= 50
    assert f"{len(expected)} of {len(games)} games" in page.inner_text("#games-count")
    page.fill("#games input[type=search]", "")
    page.locator("#games thead button", has_text="plies").click()
    plies = [
        int(text) for text in page.eval_on_selector_all("#games tbody tr td:nth-child(5)", TEXTS)
    ]
    assert plies == sorted(plies)
    page.locator("#games tbody button").first.press("Enter")
    assert page.locator("dialog#game").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog#game").is_visible()


def page_of(folder: Path, control: Path) -> Path:
    """Render the page of recorded results as `report` does."""
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    try:
        loaded.restore(store, loaded.compare(store))
        text = render_page(make_page(loaded, store))
    finally:
        store.close()
    (folder / "page.html").write_text(text, encoding="utf-8")
    return folder / "page.html"


def test_hostile_names_are_inert(page: Any, tmp_path: Path) -> None:
    control = write(tmp_path)
    usage = tuple(u.__class__(HOSTILE, 1.5, 23_000_000, 6.0, 0.75, HOSTILE) for u in USAGE)
    changes = {"usage": usage, "detail": HOSTILE, "reason": HOSTILE}
    results = [
        ({**ticket(number=n), "o": HOSTILE}, won(f"0_{n}", winner=n % 2, **changes))
        for n in range(6)
    ]
    recorded(control, results)
    open_file(page, page_of(tmp_path, control))
    assert "onerror=alert(2)" in page.inner_text("#games")
    page.locator("#games tbody button").first.click()
    assert page.locator("dialog#game").is_visible()
    assert page.locator("img").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == page.evaluate(
        "document.body.querySelectorAll(':scope > script').length"
    )
    text = page.inner_text("body")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "49" not in page.inner_text("#games tbody tr:first-child td:last-child")


def test_two_hundred_parameters_are_sorted_in_either_direction(page: Any, tmp_path: Path) -> None:
    many = "\n".join(
        f'    Parameter("p{i}", start={(i * 37) % 200}, min=-1000, max=1000, c_end=1),'
        for i in range(200)
    )
    source = re.sub(r"parameters = \[.*?\n\]", f"parameters = [\n{many}\n]", TUNE, flags=re.S)
    control = write(tmp_path, source)
    recorded(control, [])
    open_file(page, page_of(tmp_path, control))
    table = page.locator("#main table").first
    for direction in (1, -1):
        table.locator("thead button", has_text="start").click()
        values = table.locator("tbody tr td:nth-child(2)").evaluate_all(TEXTS)
        numbers = [float(value) for value in values]
        assert len(numbers) == 200
        assert numbers == sorted(numbers, reverse=direction < 0)
    page.locator("#main input[type=search]").first.fill("p17")
    shown = table.locator("tbody tr:visible").count()
    assert shown == 11  # p17, p170 to p179


def test_games_without_openings_have_no_column_of_them(page: Any, tmp_path: Path) -> None:
    for name, changes in (("with", {}), ("without", {"o": ""})):
        folder = tmp_path / name
        folder.mkdir()
        control = write(folder)
        recorded(control, [({**ticket(), **changes}, won("0_0"))])
        assert ringmaster(control, "report").returncode == 0
        open_file(page, control.with_suffix(".html"))
        assert page.locator("#games th", has_text="opening").is_visible() == (name == "with")
