"""Loops and branches.

`_scan_while` is the loop that stops by itself and keeps its history; `_engine` runs it
and differentiates it. `_carry` says what fits the carry of a loop.
"""

from ._scan_while import ScanWhileResult as ScanWhileResult, scan_while as scan_while
