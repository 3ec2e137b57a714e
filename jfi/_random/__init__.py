"""Random numbers without keys. Begin to read in `_streams.py`.

A `Stream` is a seed and a counter; `_seeding` sets them, `_drawing` makes draws of them
(`_in_advance`: 64 at once), `_distributions` hold the mathematics. `_key_data` are keys
as data, `_documented` writes docstrings. `traced/` is what draws do in code that JAX
traces. `torch_style/` and `numpy_style/` are the functions users call;
`_generator_objects` has them as methods.
"""
