"""The index page of a folder of competitions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ringmaster.reporting.page import content_policy, environment, style_files


class IndexRow(msgspec.Struct, frozen=True):
    """A competition in the index; `name` is also its address."""

    name: str
    type: str = ""
    state: str = ""
    progress: str = ""
    verdict: str = ""


def render_index(title: str, rows: Sequence[IndexRow]) -> str:
    """Return the index as a document."""
    from markupsafe import Markup

    styles = style_files()
    return (
        environment()
        .get_template("index.html")
        .render(
            title=title,
            rows=rows,
            styles=map(Markup, styles),
            policy=content_policy((), styles),
        )
    )
