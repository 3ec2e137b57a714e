"""States in files: `save_state` and `load_state`. Begin in `_public`.

A file is a zip archive of NumPy arrays, which `numpy.load` reads, and of one text that
says how they belong together. `_writing` makes this text of values, `_reading` values
of the text; `_kinds` is what both know, `_arrays` how arrays are stored, `_files` how
a file is replaced as a whole.
"""

from ._public import load_state as load_state, save_state as save_state
