"""A figure that a notebook displays; importing this module imports matplotlib."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

#: Dots an inch in a notebook.
_DOTS = 100


class ShownFigure(Figure):
    """A figure with a picture of itself for IPython, also without `%matplotlib`."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=_DOTS)
        return stream.getvalue()
