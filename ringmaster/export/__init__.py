"""Write the results of a competition to one file for other programs."""

from ringmaster.export.result_files import FORMATS, export_results, format_of

__all__ = ["FORMATS", "export_results", "format_of"]
