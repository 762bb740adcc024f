"""Labelled positions as others have them: many formats, read as a stream, filtered and
made into a position file.

Nothing is imported here: `show` needs the settings, and readers bring libraries with them.
"""
