"""A report as HTML, for notebooks."""

from html import escape
from typing import TYPE_CHECKING

from ._text import facts, headline, tables


if TYPE_CHECKING:
    from ._report import Inspection

# Colors are those of the notebook, light or dark: only opacities are given.
_WORD = "opacity:.6; padding:0 1em 0 0; text-align:left; vertical-align:top"
_NUMBER = "padding:0 1em 0 0; text-align:right; font-variant-numeric:tabular-nums"


def html(report: "Inspection") -> str:
    """The report as tables."""
    parts = [f"<b>{escape(headline(report))}</b>", "<table>"]
    for word, text in facts(report):
        cell = f"<td style='text-align:left'>{escape(text)}</td>"
        parts.append(f"<tr><td style='{_WORD}'>{escape(word)}</td>{cell}</tr>")
    parts.append("</table>")
    for table in tables(report):
        last = len(table.columns) - 1
        styles = [_NUMBER if 0 < k < last else _WORD for k in range(last + 1)]
        heads = (
            f"<th style='{style}'>{escape(column)}</th>"
            for style, column in zip(styles, table.columns, strict=True)
        )
        parts += ["<table>", f"<tr>{''.join(heads)}</tr>"]
        for row in table.rows:
            cells = (
                f"<td style='{style}'><code>{escape(cell)}</code></td>"
                for style, cell in zip(styles, row, strict=True)
            )
            parts.append(f"<tr>{''.join(cells)}</tr>")
        parts.append("</table>")
    if report.hints:
        items = "".join(f"<li>{escape(hint)}</li>" for hint in report.hints)
        parts.append(f"<ul>{items}</ul>")
    return f"<div>{''.join(parts)}</div>"
