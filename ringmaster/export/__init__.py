"""Writing the results of a competition to one file, for other programs: tables
of a row a game, or all game records."""

from ringmaster.export.export import FORMATS, export_results, format_of

__all__ = ["FORMATS", "export_results", "format_of"]
