"""Import this before JAX: what is timed is jfi, not the audit hook of another library.

JAX imports filelock where that is installed. Since 4.2 filelock adds an audit hook on
Python 3.12 and newer, and each look at a function's code then takes 250 ns, not 20.
autojit has two such looks for each function of a class.
"""

import sys


sys.modules["filelock"] = None
