"""Labelled positions as others have them: nine formats, read as a stream, filtered and
made into a position file."""
