"""Random scripts that run twice, with jfi's tools and with plain Python's.

`python -m fuzzing` from the folder `tests` runs them and shows what differs; see
`__main__.py`. `plain.py` has the stand-ins for jfi's tools. A script is put together
from `sources.py` and `objects.py` (what functions read), `routes.py` (by which ways),
`effects.py` (what they write) and `tools.py` (how they are called), in `scripts.py`;
those of `threads.py` are made whole. `running.py` runs them.
"""
