"""The competition types: settings, logic and report data of each in one module."""
