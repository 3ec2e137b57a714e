"""A report as HTML, for notebooks."""

from html import escape
from typing import TYPE_CHECKING

from .._shown import html_facts, html_table
from ._text import facts, headline, tables


if TYPE_CHECKING:
    from ._report import Inspection


def html(report: "Inspection") -> str:
    """The report as tables."""
    parts = [html_facts(headline(report), facts(report))]
    parts += [html_table(table.columns, table.rows) for table in tables(report)]
    if report.hints:
        items = "".join(f"<li>{escape(hint)}</li>" for hint in report.hints)
        parts.append(f"<ul>{items}</ul>")
    return f"<div>{''.join(parts)}</div>"
