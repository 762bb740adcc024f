"""Sphinx: `sphinx-build -W docs FOLDER` makes the pages (extra ``docs``).

The pages of settings and commands, and the man page, are written first.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.roles import XRefRole

sys.path.insert(0, str(Path(__file__).parent.parent))

import ringmaster
from scripts import make_reference

project = "ringmaster"
version = release = ringmaster.__version__
extensions = ["sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["_build", "man"]
# docstrings and help texts have names between single grave accents
default_role = "literal"
html_theme = "furo"
html_title = f"ringmaster {version}"
html_show_sourcelink = html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["settings.css"]
# dashes only: quotes in texts are those of Python
smartquotes_action = "D"
# "$ " begins a command, other lines are its output
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_default_options = {"members": True}

_COLUMNS = re.compile(r"(\w+(?:, \w+)*)  +(\S.*)")


def list_columns(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Turn the columns "name   text" of a docstring into a list of fields."""
    field = "ivar" if what == "class" else "param"
    listed: list[str] = []
    entry = False
    for line in lines:
        if match := _COLUMNS.fullmatch(line):
            names, text = match.groups()
            types = getattr(obj, "__annotations__", {}) if what == "class" else {}
            listed += [f":vartype {n}: {types[n]}" for n in names.split(", ") if n in types]
            listed += [f":{field} {n}: {text}" for n in names.split(", ")]
            entry = True
        else:
            entry = entry and line.startswith(" ")
            listed.append(f"    {line.strip()}" if entry else line)
    lines[:] = listed


def without_constructor(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str | None] | None:
    """Drop the arguments of classes: their objects come from `load`."""
    return ("", None) if what == "class" else None


def _setting_name(env: Any, text: str, node: addnodes.desc_signature) -> str:
    """Show a setting's name without its competition type or call; the anchor has both."""
    node += addnodes.desc_name("", "", nodes.Text(text.rpartition(".")[2]))
    return text


def setup(app: Sphinx) -> None:
    """Add directive and role ``setting``; write generated pages; read docstrings."""
    app.add_object_type("setting", "setting", "pair: %s; setting", _setting_name)
    app.add_role_to_domain("std", "setting", XRefRole(warn_dangling=True), override=True)
    app.connect("builder-inited", lambda app: make_reference.write())
    app.connect("autodoc-process-docstring", list_columns)
    app.connect("autodoc-process-signature", without_constructor)
