"""Reading functions: the names in their bytecode, and whose code they are.

`_bytecode` reads code objects; `_origins` tells the user's code from libraries.
"""

from ._bytecode import (
    References as References,
    code_digest as code_digest,
    constant as constant,
    references as references,
    token as token,
)
from ._origins import (
    is_user_code as is_user_code,
    is_user_module as is_user_module,
    library_version as library_version,
    reads_surroundings as reads_surroundings,
)
