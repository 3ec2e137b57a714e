"""PyTorch's names for what NumPy calls otherwise or has not; torch is not imported.

`_arguments` holds the checks that they share, and NumPy's spellings of `dim`.
"""

from ._distances import cdist as cdist
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
from ._losses import (
    cross_entropy as cross_entropy,
    mse_loss as mse_loss,
    one_hot as one_hot,
)
from ._matrices import (
    block_diag as block_diag,
    matrix_exp as matrix_exp,
    solve_triangular as solve_triangular,
)
from ._nonlinear import (
    gelu as gelu,
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    relu as relu,
    sigmoid as sigmoid,
    softmax as softmax,
)
from ._numeric import clamp as clamp, norm as norm
from ._selecting import index_select as index_select, scatter as scatter
from ._shapes import (
    bmm as bmm,
    cat as cat,
    chunk as chunk,
    detach as detach,
    flatten as flatten,
    item as item,
    permute as permute,
    t as t,
    to_numpy as to_numpy,
    unsqueeze as unsqueeze,
)
from ._tensor import tensor as tensor
