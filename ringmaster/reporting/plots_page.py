"""Write a report with its charts as one HTML page without scripts and external files.

Foreign text is sanitised and escaped.  The page's content security policy forbids scripts and the
network, too.  The page follows the reader's choice of light or dark.
"""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from html import escape

from ringmaster.model.report import Chart, ChartGroup, Comparison, Report, Table, Text
from ringmaster.reporting.plots import Key, frame, inches, keys
from ringmaster.reporting.plots_style import PALETTE, drawing, new_figure, shortened
from ringmaster.reporting.tables import LINE_LIMIT, cell_text
from ringmaster.reporting.text import sanitise

#: Inches: the width of a chart among many, of one of two, and of a single one.
SMALL, HALF, WHOLE = 3.3, 4.9, 9.8

_DARK = {
    "ink": "#e4e7eb",
    "muted": "#9aa3ae",
    "grid": "#30363d",
    "outside": "#22272e",
    "main": "#6ea8fe",
    "aside": "#8d96a0",
    "average": "#ff9a4a",
    "estimate": "#4ccf8b",
}

_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; LIGHT }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; DARK } }
@media print { :root { --paper: #ffffff; LIGHT } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1.25rem 3rem; max-width: 66rem; background: var(--paper);
  color: var(--ink); font: 0.95rem/1.45 system-ui, "Helvetica Neue", Arial, "Noto Sans",
  "Hiragino Sans", "Yu Gothic", "Noto Sans CJK JP", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 0.25rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.25rem; }
h1, h2, td, th, li, p { overflow-wrap: anywhere; }
p.about { white-space: pre-wrap; margin: 0.5rem 0; }
p.how { color: var(--muted); margin: 0 0 0.25rem; font-size: 0.85rem; }
section { break-inside: auto; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0.2rem 0; white-space: pre-wrap; }
th, td { padding: 0.2rem 0.7rem 0.2rem 0; text-align: left; white-space: pre; vertical-align: top; }
th { border-bottom: 1px solid var(--muted); font-weight: 600; color: var(--muted); }
td { border-bottom: 1px solid var(--grid); }
.right { text-align: right; }
p.note { margin: 0.15rem 0; font-size: 0.85rem; color: var(--muted); }
pre { font: 0.82rem/1.45 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; margin: 1rem 0; }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1.25rem; margin: 0.25rem 0;
  padding: 0; font-size: 0.82rem; }
ul.legend svg { width: 1.6em; height: 0.8em; margin-right: 0.4em; vertical-align: -0.05em; }
.charts { display: grid; gap: 0.75rem 1rem; margin-top: 0.5rem; grid-template-columns: 1fr; }
@media (min-width: 40rem) { .charts.half, .charts.many { grid-template-columns: 1fr 1fr; } }
@media (min-width: 60rem) { .charts.many { grid-template-columns: 1fr 1fr 1fr; } }
.charts svg { width: 100%; height: auto; display: block; break-inside: avoid; }
.charts svg * { stroke-linejoin: round; }
.charts svg text { font-family: inherit !important; }
@media print {
  body { max-width: none; padding: 0; font-size: 9pt; }
  h2, p.how, ul.legend { break-after: avoid; }
  .charts.many { grid-template-columns: 1fr 1fr 1fr; }
  .charts.half { grid-template-columns: 1fr 1fr; }
  tr { break-inside: avoid; }
}
"""

_HEX = re.compile(r"#[0-9a-f]{6}\b")
_NAMES = {colour: name for name, colour in PALETTE.items()}


def render_page(
    report: Report, groups: Sequence[ChartGroup], *, title: str, description: str = ""
) -> tuple[str, list[str]]:
    """Return a page, and warnings about its pictures.

    Raises RingmasterError without matplotlib.
    """
    with drawing():
        sections = [part for number, group in enumerate(groups) for part in _group(group, number)]
    head = _text(title)
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{head}</title>",
        f"<style>{_style()}</style>",
        "</head>",
        "<body>",
        f"<h1>{head}</h1>",
    ]
    if description.strip():
        lines = [_text(line.rstrip()) for line in description.strip("\n").expandtabs().splitlines()]
        parts.append('<p class="about">' + "\n".join(lines) + "</p>")
    parts += [*_report(report), *sections, "</body>", "</html>", ""]
    # the browser has all letters
    return "\n".join(parts), []


def _style() -> str:
    light, dark = (
        " ".join(f"--{name}: {colour};" for name, colour in colours.items())
        for colours in (PALETTE, _DARK)
    )
    return _STYLE.replace("LIGHT", light).replace("DARK", dark)


def _text(text: str) -> str:
    return escape(sanitise(text, LINE_LIMIT))


# tables


def _report(report: Report) -> Iterator[str]:
    for block in report.blocks:
        if isinstance(block, Text):
            lines = [_text(part) for line in block.lines for part in line.splitlines() or [""]]
            yield "<pre>" + "\n".join(lines) + "</pre>"
        else:
            yield from _table(block)


def _table(table: Table) -> Iterator[str]:
    count = max([len(table.headers), *map(len, table.rows)], default=0)
    title = "\n".join(_text(line) for line in table.title.splitlines())
    if count:
        yield '<div class="scroll"><table>'
        if title:
            yield f"<caption>{title}</caption>"
        if any(table.headers):
            cells = "".join(_cells(table, table.headers, count, "th"))
            yield f"<thead><tr>{cells}</tr></thead>"
        yield "<tbody>"
        for row in table.rows:
            yield f"<tr>{''.join(_cells(table, row, count, 'td'))}</tr>"
        yield "</tbody></table></div>"
    elif title:
        yield f"<p><strong>{title}</strong></p>"
    for note in table.notes:
        yield f'<p class="note">{_text(note)}</p>'


def _cells(
    table: Table, cells: Sequence[str | int | float | None], count: int, tag: str
) -> list[str]:
    default = ("left", *["right"] * (count - 1))
    align = (*table.align[:count], *default[len(table.align) :])
    texts = [escape(cell_text(cell)) for cell in cells] + [""] * (count - len(cells))
    places = ["" if side == "left" else ' class="right"' for side in align]
    return [f"<{tag}{place}>{text}</{tag}>" for text, place in zip(texts, places, strict=False)]


# pictures


def _group(group: ChartGroup, number: int) -> Iterator[str]:
    count = len(group.charts)
    wide, kind = SMALL, "many"
    if count == 1 or any(isinstance(chart, Comparison) for chart in group.charts):
        wide, kind = WHOLE, "whole"
    elif count in (2, 4):
        wide, kind = HALF, "half"
    yield "<section>"
    yield f"<h2>{_text(group.title)}</h2>"
    if group.text:
        yield f'<p class="how">{_text(group.text)}</p>'
    looks = keys(group)
    if looks:
        samples = "".join(f"<li>{_sample(key)}{_text(key.name)}</li>" for key in looks)
        yield f'<ul class="legend">{samples}</ul>'
    yield f'<div class="charts {kind}">'
    for i, chart in enumerate(group.charts):
        if isinstance(chart, Chart | Comparison):
            yield _picture(chart, wide, f"g{number}c{i}-")
    yield "</div>"
    yield "</section>"


def _sample(key: Key) -> str:
    """Return a small SVG of a look, two letters wide."""
    colour = f"var(--{key.role})"
    line = f'<path d="M0 6H24" stroke="{colour}" stroke-width='
    shapes = {
        "band": f'<path d="M0 1H24V11H0Z" fill="{colour}" fill-opacity="0.25"/>',
        "line": f'{line}"2"/>',
        "dashes": f'{line}"1.5" stroke-dasharray="5 4"/>',
        "bar": f'{line}"3.5"/>',
        "upright": f'<path d="M12 0V12" stroke="{colour}" stroke-width="2"/>',
        "diamond": f'<path d="M12 0L18 6L12 12L6 6Z" fill="{colour}"/>',
        "dots": f'<circle cx="12" cy="6" r="4" fill="{colour}"/>',
    }
    return f'<svg viewBox="0 0 24 12" aria-hidden="true">{shapes[key.look]}</svg>'


def _picture(chart: Chart | Comparison, wide: float, prefix: str) -> str:
    """Return a chart as SVG for a page, with its own ids and with colours by role."""
    high = inches(chart, wide)
    figure = new_figure(wide, high)
    figure.patch.set_visible(False)
    axes = frame(figure, chart, (0, 0, wide))
    axes.patch.set_visible(False)
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    # matplotlib has escaped all text
    root = ET.fromstring(stream.getvalue())
    for parent in root.iter():
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        _translate(element, prefix)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    title = chart.title or chart.x_label
    note = shortened(chart.note, 200)
    root.set("role", "img")
    root.set("aria-label", f"{shortened(title, 200)}{f': {note}' if note else ''}")
    return ET.tostring(root, encoding="unicode")


def _translate(element: ET.Element, prefix: str) -> None:
    element.tag = _local(element.tag)
    # white space between elements has no meaning
    if element.text is not None and not element.text.strip():
        element.text = None
    if element.tail is not None and not element.tail.strip():
        element.tail = None
    for name, value in list(element.attrib.items()):
        del element.attrib[name]
        name = _local(name)
        if name == "id":
            value = prefix + value
        elif name == "href" and value.startswith("#"):
            value = f"#{prefix}{value[1:]}"
        elif name == "clip-path":
            value = value.replace("url(#", f"url(#{prefix}")
        elif name == "style":
            value = _HEX.sub(_variable, value)
        element.set(name, value)


def _variable(match: re.Match[str]) -> str:
    name = _NAMES.get(match[0])
    return match[0] if name is None else f"var(--{name})"


def _local(name: str) -> str:
    return name.rpartition("}")[2]
