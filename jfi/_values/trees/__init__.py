"""Objects as trees of JAX: `pytree` for ordinary classes, and what `CustomArray` is.

`_settings` says which attributes are data and which are settings; start there.
`_classes` registers classes with JAX, `_axes` are axes of `vmap` given as objects.
`_texts` is what objects print. `_differences` says where two trees differ,
`_written` what was written to one.
"""

from ._axes import axes_like as axes_like, refuse_objects as refuse_objects
from ._classes import (
    add_advice as add_advice,
    are_buffers as are_buffers,
    float_line as float_line,
    is_pytree_class as is_pytree_class,
    pytree as pytree,
    pytree_line as pytree_line,
)
from ._differences import first_difference as first_difference
from ._settings import (
    Settings as Settings,
    declarations as declarations,
    divided as divided,
    given_attributes as given_attributes,
    is_array_of_tree as is_array_of_tree,
    is_object_of_tree as is_object_of_tree,
    put_together as put_together,
    refuse_computed_data as refuse_computed_data,
)
from ._written import Watched as Watched
