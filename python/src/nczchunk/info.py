"""Descriptions of arrays as tables: as text, and for notebooks with a plot of the chunks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from html import escape
from typing import Any

# The longer side of the picture, in pixels, and how many lines it has at most in each direction.
_SIDE, _MOST_LINES = 160, 40


class Info:
    """A table of names and values."""

    def __init__(self, rows: dict[str, Any], picture: str = "") -> None:
        self.rows, self._picture = rows, picture

    def __repr__(self) -> str:
        width = max(map(len, self.rows))
        return "\n".join(f"{name:{width}} : {value}" for name, value in self.rows.items())

    def _repr_html_(self) -> str:
        rows = "".join(f'<tr><th style="text-align:left">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
                       for name, value in self.rows.items())
        return f'<div style="display:flex;gap:2em"><table>{rows}</table>{self._picture}</div>'


def of_array(array: Any) -> Info:
    """The table of an array."""
    rows = {"Format": array.format, "Type": array.type_name, "Shape": array.shape, "Chunks": _chunks(array)}
    if array.shards:
        rows["Shards"] = array.shards
    if any(array.dims):
        rows["Dimensions"] = ", ".join(name or "-" for name in array.dims)
    rows["Codecs"] = ", ".join(name for name, _ in array.codecs) or "none"
    rows |= {"Number of chunks": array.nchunks, "Bytes": _bytes(array.nbytes), "Fill value": array.fill_value,
             "Attributes": len(array.attrs)}
    return Info(rows, _grid(array))


def _chunks(array: Any) -> Any:
    """The lengths of a chunk; of chunks that differ, the largest."""
    if all(array._regular):
        return array.chunks
    lengths = (str(chunk) if is_regular else f"up to {chunk}"
               for chunk, is_regular in zip(array.chunks, array._regular))
    return f"({', '.join(lengths)})"


def _bytes(number: int) -> str:
    power = min(6, max(0, (number.bit_length() - 1) // 10))
    return f"{number}" if not power else f"{number} ({number / 1024**power:.1f} {'KMGTPE'[power - 1]}iB)"


def _grid(array: Any) -> str:
    """A plot of the last two dimensions, with a line between chunks and a thick one between shards. If there are too
    many lines, each stands for several."""
    shape = (1, *array.shape)[-2:]
    if not array.shape or not all(shape):
        return ""
    longest = max(shape)
    height, width = (max(8.0, _SIDE * length / longest) for length in shape)

    sizes = None if all(array._regular) else array.read_chunk_sizes

    def edges(length: int, chunk: int, lengths: tuple[int, ...] | None) -> Iterable[int]:
        if lengths is None:
            step = chunk * math.ceil(length / chunk / _MOST_LINES)
            return (i * step for i in range(0, -(-length // step) + 1))
        step = math.ceil(len(lengths) / _MOST_LINES)
        return (*list(itertools.accumulate(lengths, initial=0))[:-1:step], length)

    def lines(chunks: tuple[int, ...], line: float, differ: bool = False) -> str:
        found = ""
        lists = ((1,), *(sizes if sizes and differ else (None,) * len(array.shape)))[-2:]
        for length, chunk, given, is_row in zip(shape, (1, *chunks)[-2:], lists, (True, False)):
            for edge in edges(length, chunk, given):
                at = min(1.0, edge / length)
                x1, x2 = (0, width) if is_row else (at * width, at * width)
                y1, y2 = (at * height, at * height) if is_row else (0, height)
                found += (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor" '
                          f'stroke-width="{line}"/>')
        return found

    return (f'<svg width="{width + 4:.0f}" height="{height + 4:.0f}" viewBox="-2 -2 {width + 4:.1f} {height + 4:.1f}" '
            f'role="img" aria-label="chunks of the last dimensions">{lines(array.chunks, 0.5, True)}'
            f'{lines(array.shards or array.shape, 1.5)}</svg>')
