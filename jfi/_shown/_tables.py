"""Tables as text and as HTML: how the objects that jfi returns are shown."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape


# Colors are those of the notebook, light or dark: only opacities are given.
_WORD = "opacity:.6; padding:0 1em 0 0; text-align:left; vertical-align:top"
_NUMBER = "padding:0 1em 0 0; text-align:right; font-variant-numeric:tabular-nums"
_TEXT = "text-align:left; white-space:pre-wrap; font-family:monospace"


def aligned_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines: the first and the last column are words, others numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 1
    for row in rows:
        cells = (
            cell.ljust(width) if k in (0, last) else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same as a table of HTML; all text is escaped."""
    last = len(columns) - 1
    styles = [_NUMBER if 0 < k < last else _WORD for k in range(last + 1)]
    parts = ["<table>", _row("th", styles, map(escape, columns))]
    for row in rows:
        cells = (f"<code>{escape(cell)}</code>" for cell in row)
        parts.append(_row("td", styles, cells))
    return "".join([*parts, "</table>"])


def html_facts(headline: str, facts: Iterable[tuple[str, str]]) -> str:
    """A headline, and lines of a word and what there is to say; all is escaped."""
    rows = (_row("td", (_WORD, _TEXT), map(escape, fact)) for fact in facts)
    return f"<div><b>{escape(headline)}</b><table>{''.join(rows)}</table></div>"


def html_values(headline: str, values: Iterable[tuple[str, object]]) -> str:
    """A headline, and values by name, as Python prints them; all is escaped."""
    return html_facts(headline, ((name, repr(value)) for name, value in values))


def _row(tag: str, styles: Sequence[str], cells: Iterable[str]) -> str:
    """A row of cells that are HTML already."""
    shown = (
        f"<{tag} style='{style}'>{cell}</{tag}>"
        for style, cell in zip(styles, cells, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"
