"""Sphinx: sphinx-build docs FOLDER makes the pages (`pip install sphinx`)."""

project = "ringmaster"
exclude_patterns = ["_build"]
