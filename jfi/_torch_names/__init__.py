"""PyTorch's names for what NumPy calls otherwise or has not; torch is not imported.

`_arguments` holds the checks that they share, and NumPy's spellings of `dim`.
"""

from ._indexing import (
    TopK as TopK,
    gather as gather,
    masked_fill as masked_fill,
    topk as topk,
)
from ._linalg import (
    cho_factor as cho_factor,
    cholesky_solve as cholesky_solve,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
)
from ._numeric import clamp as clamp, norm as norm, softmax as softmax
from ._shapes import (
    bmm as bmm,
    cat as cat,
    detach as detach,
    flatten as flatten,
    item as item,
    permute as permute,
    t as t,
    to_numpy as to_numpy,
    unsqueeze as unsqueeze,
)
