"""Sphinx: `sphinx-build -W docs FOLDER` makes the pages (extra ``docs``)."""

import re
from pathlib import Path

project = "ringmaster"
_source = Path(__file__).parent.parent / "ringmaster" / "__init__.py"
_version = re.search('__version__ = "(.*)"', _source.read_text(encoding="utf-8"))
assert _version is not None
version = release = _version[1]
extensions = ["sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["_build", "man"]
html_theme = "furo"
html_title = f"ringmaster {version}"
# "$ " begins a command, other lines are its output
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"
# the docstrings describe attributes in columns
autodoc_default_options = {"members": True, "show-inheritance": False}
