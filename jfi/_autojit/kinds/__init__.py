"""What autojit does with each kind of value. Begin in `_base.py`: `Kind`.

`_classify` finds the kind of a value, and so what is data and what is static; each
other file holds the kinds of one sort of values.
"""
