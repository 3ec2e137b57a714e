"""How what jfi returns is shown, in a terminal and in notebooks.

`_functions` are the functions that tools return, which say how often they compiled;
`_reloading` lets them follow when their module is read again; `_tables` are tables and
lists of facts, as text and as HTML.
"""

from ._functions import (
    HTML as HTML,
    Page as Page,
    ShownFunction as ShownFunction,
    ToolFacts as ToolFacts,
    is_in_class_body as is_in_class_body,
    shown as shown,
    shown_as as shown_as,
    times as times,
)
from ._tables import (
    aligned_lines as aligned_lines,
    html_facts as html_facts,
    html_table as html_table,
    html_values as html_values,
)
