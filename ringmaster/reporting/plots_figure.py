"""A figure that a notebook displays; importing this module imports matplotlib."""

from __future__ import annotations

import io

from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure

from ringmaster.reporting.plots_style import quiet_fonts

#: Dots an inch in a notebook.
_DOTS = 100


class ShownFigure(Figure):
    """A figure with a picture of itself for IPython, also without `%matplotlib`."""

    def draw(self, renderer: RendererBase) -> None:
        """Draw, also long after the figure was made, without reports about fonts."""
        with quiet_fonts():
            super().draw(renderer)

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=_DOTS)
        return stream.getvalue()
