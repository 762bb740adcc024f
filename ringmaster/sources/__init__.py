"""Engines from git: commits of repositories, their builds in the user's cache, and benchmarks."""
