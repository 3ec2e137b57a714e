"""Random scripts that run twice, with jfi's tools and with plain Python's.

`python -m fuzzing` from the folder `tests` runs them and shows what differs; see
`__main__.py`. `plain.py` has the stand-ins for jfi's tools. `making.py` chooses from
`sources.py` and `objects.py` (what functions read), `routes.py` (by which ways),
`effects.py` (what they write) and `tools.py` (how they are called); `scripts.py` makes a
text of it. The scripts of `threads.py` and `floats.py` are whole; `plain_floats.py` is
the rule of what is data, which the latter are about. `running.py` runs and compares.
"""
