"""The page of a competition: self-contained, inert to hostile text, within its budget."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringmaster.model.report import (
    Band,
    Bars,
    BarSeries,
    Chart,
    ChartGroup,
    Compared,
    Comparison,
    HeatMap,
    Interval,
    Level,
    Report,
    Series,
    Table,
    Text,
    Tree,
    TreeNode,
    Whiskers,
)
from ringmaster.reporting.page import (
    CopyText,
    GameRow,
    Page,
    groups_data,
    render_page,
)

HOSTILE = (
    "</script></style><!--<script>alert(1)</script><img src=x onerror=alert(2)> "
    "{{ 7*7 }} ${8*8} & \"q' \x1b[31m \u202eabc \u2028"
)


class Document(HTMLParser):
    """The elements, attributes and texts that a browser would find."""

    VOID = ("meta", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: dict[str, int] = {}
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.inline: list[tuple[str, str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("script", "style"):
            self.inline.append((tag, dict(attrs).get("type") or "", ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            tag, kind, text = self.inline[-1]
            self.inline[-1] = tag, kind, text + data
        else:
            self.text += data

    @property
    def data(self) -> Any:
        """The data for the scripts."""
        (text,) = [text for _, kind, text in self.inline if kind == "application/json"]
        return json.loads(text)

    @property
    def policy(self) -> str:
        """The content security policy."""
        return next(v for t, n, v in self.attributes if n == "content" and "default-src" in v)


def charts(name: str = "x") -> list[ChartGroup]:
    """Return a group of each kind of chart."""
    pieces = (
        Band(name, ((0, 1, 2), (1, 1, 3))),
        Level(name, 1.0),
        Series(name, ((0, 1.5), (1, math.inf))),
        Whiskers(name, ((0, 1, 0.5, math.nan),)),
        Interval(name, 2.0, None, 3.0),
    )
    node = TreeNode(name, name, 1.0, (TreeNode(name, name, 0.25),))
    return [
        ChartGroup(name, (Chart(name, pieces, name, name, name, (0, 5), (name,), (name,)),), name),
        ChartGroup(name, (Comparison(name, (Compared(name, 1, -math.inf, 2, name),), name),)),
        ChartGroup(name, (HeatMap(name, (name,), (name,), ((None,),), name, texts=((name,),)),)),
        ChartGroup(name, (Bars(name, (name,), (BarSeries(name, (1.0,)),)),)),
        ChartGroup(name, (Tree(name, node, name),), key="tree"),
    ]


def page(name: str = "x", **changes: Any) -> Page:
    """Return a page with this text everywhere."""
    report = Report((Table((name, "b"), ((name, 1.5),), name, (name,)), Text((name, "  two"))))
    contents: dict[str, Any] = {
        "title": name,
        "verdict": name,
        "description": f"{name}\n{name}",
        "state": name,
        "facts": ((name, name),),
        "report": report,
        "conditions": report,
        "groups": charts(name),
        "games": [GameRow(1, name, (name, name), name, name, 3, 0.5, name, detail=name)],
        "games_total": 1,
        "games_note": name,
        "copies": (CopyText(name, name, name),),
        **changes,
    }
    return Page(**contents)


def test_page_loads_nothing_and_its_policy_allows_only_its_own_scripts_and_styles() -> None:
    document = Document(render_page(page()))
    for tag, name, value in document.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in ("src", "style"), (tag, value)
        assert name != "href" or value.startswith("#")
    directives = dict(part.strip().split(" ", 1) for part in document.policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert "connect-src" not in directives
    assert "unsafe" not in document.policy
    for tag, kind, text in document.inline:
        if kind != "application/json":
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in directives[f"{tag}-src"]
        assert tag != "style" or not re.search(r"url\((?![\"']?(?:data:|%23))|@import", text)


def test_live_page_may_ask_its_own_server_and_has_the_servers_script() -> None:
    text = render_page(
        page(), events="events", html="<p id=mine></p>", scripts=["let mine;"], styles=[".mine {}"]
    )
    document = Document(text)
    assert "connect-src 'self'" in document.policy
    assert document.data["events"] == "events"
    assert ("script", "", "let mine;") in document.inline
    assert ("p", "id", "mine") in document.attributes


def test_texts_and_tables_are_there_without_scripts() -> None:
    verdict = "new is better: +12.3 ± 5.1 Elo (95 %)"
    document = Document(render_page(page(verdict=verdict)))
    assert document.tags["table"] == 2
    # title, headline, end
    assert document.text.count(verdict) == 3
    assert "  two" in document.text
    assert "1.5" in document.text


def test_hostile_text_stays_text() -> None:
    text = render_page(page(HOSTILE))
    plain = Document(render_page(page()))
    document = Document(text)
    assert document.tags == plain.tags
    assert [a[:2] for a in document.attributes] == [a[:2] for a in plain.attributes]
    assert document.policy == plain.policy
    for character in "\x1b\u202e\u2028":
        assert character not in text
    assert "49" not in document.text
    parts = document.data["parts"]
    assert "<img" in parts["verdict"]
    assert "<script" not in parts["main"]
    assert "&lt;script&gt;" in parts["main"]


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(st.characters(), max_size=40))
@example("half of a pair: \ud800")
def test_page_with_any_name_is_well_formed(name: str) -> None:
    document = Document(render_page(page(name)))
    document.text.encode()
    assert len(document.data["parts"]["charts"]) == 5


def test_infinite_and_unknown_numbers_are_null() -> None:
    chart, comparison, heat, *_ = (group["charts"][0] for group in groups_data(charts()))
    series, whiskers, interval = chart["pieces"][2:]
    assert series["columns"] == [[0, 1], [1.5, None]]
    assert whiskers["columns"][3] == [None]
    assert (interval["low"], interval["high"]) == (None, 3)
    assert comparison["rows"][0]["low"] is None
    assert heat["values"] == [[None]]


def test_page_of_fifty_long_charts_keeps_its_budget() -> None:
    points = tuple((i * 1.37, i * 0.731 - 9) for i in range(20_000))
    band = tuple((x, y - 1.234567, y + 1.234567) for x, y in points)
    chart = Chart("p", (Band("b", band), Series("s", points), Series("short", points[:100])))
    group = ChartGroup("Parameters", (chart,) * 50)
    assert len(render_page(page(groups=[group]))) < 2_000_000
    (data,) = groups_data([group])
    short, long = (data["charts"][0]["pieces"][i]["columns"][0] for i in (2, 1))
    assert len(short) == 100
    assert 400 < len(long) < 2000
    assert long[0] == 0
    assert long[-1] == pytest.approx(points[-1][0], rel=1e-5)
