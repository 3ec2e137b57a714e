"""A report as HTML, for notebooks."""

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from ._text import Table, facts, headline, tables


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
    parts += map(html_table, tables(report))
    if report.hints:
        items = "".join(f"<li>{escape(hint)}</li>" for hint in report.hints)
        parts.append(f"<ul>{items}</ul>")
    return f"<div>{''.join(parts)}</div>"


def html_table(table: Table) -> str:
    """A part of a report."""
    last = len(table.columns) - 1
    styles = [_NUMBER if 0 < k < last else _WORD for k in range(last + 1)]
    parts = ["<table>", _html_row("th", styles, table.columns, str)]
    parts += [
        _html_row("td", styles, row, "<code>{}</code>".format) for row in table.rows
    ]
    return "".join([*parts, "</table>"])


def _html_row(
    tag: str, styles: Sequence[str], cells: Sequence[str], show: Callable[[str], str]
) -> str:
    shown = (
        f"<{tag} style='{style}'>{show(escape(cell))}</{tag}>"
        for style, cell in zip(styles, cells, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"
