"""Random scripts that run twice, with jfi's tools and with plain Python's.

`python -m fuzzing` from the folder `tests` runs them and shows what differs; see
`__main__.py`. `plain.py` has the stand-ins for jfi's tools. `making.py` chooses from
`sources.py` and `objects.py` (what functions read), `routes.py` (by which ways),
`effects.py` (what they write) and `tools.py` (how they are called); `scripts.py` makes a
text of it. The scripts of `threads.py` are whole. `running.py` runs and compares.
"""
