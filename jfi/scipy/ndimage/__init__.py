"""Images: `jax.scipy.ndimage`, and SciPy's filters in JAX, without a host call.

| modules | hold |
| --- | --- |
| `_borders` | what is beyond the borders of an image |
| `_windows` | arguments that all filters share, and the dtype of what they return |
| `_correlation` | weighted sums of neighbors: `correlate`, `convolve` and the like |
| `_smoothing`, `_edges` | filters that are such sums |
| `_geometry`, `_affine` | images moved, turned, stretched and bent |
| `_sampling`, `_splines` | values between the elements |
| `_grey_morphology`, `_binary_morphology` | erosion, dilation and the like |
| `_ranks`, `_selection`, `_networks` | sorted neighbors: minimum, median and the like |
"""

import typing as _typing

from jax.scipy.ndimage import *  # pyright: ignore[reportWildcardImportFromLibrary]

from ._affine import (
    affine_transform as affine_transform,
    geometric_transform as geometric_transform,
    rotate as rotate,
)
from ._binary_morphology import (
    binary_closing as binary_closing,
    binary_dilation as binary_dilation,
    binary_erosion as binary_erosion,
    binary_fill_holes as binary_fill_holes,
    binary_hit_or_miss as binary_hit_or_miss,
    binary_opening as binary_opening,
    binary_propagation as binary_propagation,
    generate_binary_structure as generate_binary_structure,
)
from ._correlation import (
    convolve as convolve,
    convolve1d as convolve1d,
    correlate as correlate,
    correlate1d as correlate1d,
)
from ._edges import (
    gaussian_gradient_magnitude as gaussian_gradient_magnitude,
    gaussian_laplace as gaussian_laplace,
    laplace as laplace,
    prewitt as prewitt,
    sobel as sobel,
)
from ._geometry import (  # type: ignore[assignment]
    map_coordinates as map_coordinates,
    shift as shift,
    zoom as zoom,
)
from ._grey_morphology import (
    black_tophat as black_tophat,
    grey_closing as grey_closing,
    grey_dilation as grey_dilation,
    grey_erosion as grey_erosion,
    grey_opening as grey_opening,
    morphological_gradient as morphological_gradient,
    morphological_laplace as morphological_laplace,
    white_tophat as white_tophat,
)
from ._labels import (
    center_of_mass as center_of_mass,
    label as label,
    maximum as maximum,
    mean as mean,
    minimum as minimum,
    standard_deviation as standard_deviation,
    sum_labels as sum_labels,
    variance as variance,
)
from ._ranks import (
    maximum_filter as maximum_filter,
    maximum_filter1d as maximum_filter1d,
    median_filter as median_filter,
    minimum_filter as minimum_filter,
    minimum_filter1d as minimum_filter1d,
    percentile_filter as percentile_filter,
    rank_filter as rank_filter,
)
from ._smoothing import (
    gaussian_filter as gaussian_filter,
    gaussian_filter1d as gaussian_filter1d,
    uniform_filter as uniform_filter,
    uniform_filter1d as uniform_filter1d,
)
from ._splines import (
    spline_filter as spline_filter,
    spline_filter1d as spline_filter1d,
)


if not _typing.TYPE_CHECKING:
    from .._faces import face as _face

    __getattr__, __dir__ = _face(__name__)
