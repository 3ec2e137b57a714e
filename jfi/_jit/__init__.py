"""`jit` for functions that may draw random numbers: what all compiling stands on.

Begin in `_function.py` (what users hold), then `_compiled.py` (a function's two forms,
with draws and without). `_executables.py` shares what was compiled of equal programs,
`_per_function.py` remembers things as long as a function lives.
"""
