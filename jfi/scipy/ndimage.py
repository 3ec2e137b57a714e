"""Images: `jax.scipy.ndimage`, and SciPy's filters in JAX."""

import typing as _typing

from jax.scipy.ndimage import *  # pyright: ignore[reportWildcardImportFromLibrary]


if _typing.TYPE_CHECKING:
    from .._foreign.images._affine import (
        affine_transform as affine_transform,
        geometric_transform as geometric_transform,
        rotate as rotate,
    )
    from .._foreign.images._correlation import (
        convolve as convolve,
        convolve1d as convolve1d,
        correlate as correlate,
        correlate1d as correlate1d,
    )
    from .._foreign.images._edges import (
        gaussian_gradient_magnitude as gaussian_gradient_magnitude,
        gaussian_laplace as gaussian_laplace,
        laplace as laplace,
        prewitt as prewitt,
        sobel as sobel,
    )
    from .._foreign.images._geometry import (  # type: ignore[assignment]
        map_coordinates as map_coordinates,
        shift as shift,
        zoom as zoom,
    )
    from .._foreign.images._ranks import (
        maximum_filter as maximum_filter,
        maximum_filter1d as maximum_filter1d,
        median_filter as median_filter,
        minimum_filter as minimum_filter,
        minimum_filter1d as minimum_filter1d,
        percentile_filter as percentile_filter,
        rank_filter as rank_filter,
    )
    from .._foreign.images._smoothing import (
        gaussian_filter as gaussian_filter,
        gaussian_filter1d as gaussian_filter1d,
        uniform_filter as uniform_filter,
        uniform_filter1d as uniform_filter1d,
    )
    from .._foreign.images._splines import (
        spline_filter as spline_filter,
        spline_filter1d as spline_filter1d,
    )
else:
    from .._dispatch._names import attached as _attached

    _HOMES = {  # `map_coordinates` has JAX as well: ours has all orders and modes
        **dict.fromkeys(
            "affine_transform geometric_transform rotate".split(), "_affine"
        ),
        **dict.fromkeys("map_coordinates shift zoom".split(), "_geometry"),
        **dict.fromkeys("spline_filter spline_filter1d".split(), "_splines"),
        **dict.fromkeys(
            "convolve convolve1d correlate correlate1d".split(),
            "_correlation",
        ),
        **dict.fromkeys(
            """gaussian_gradient_magnitude gaussian_laplace laplace
            prewitt sobel""".split(),
            "_edges",
        ),
        **dict.fromkeys(
            """maximum_filter maximum_filter1d median_filter
            minimum_filter minimum_filter1d percentile_filter rank_filter""".split(),
            "_ranks",
        ),
        **dict.fromkeys(
            """gaussian_filter gaussian_filter1d uniform_filter
            uniform_filter1d""".split(),
            "_smoothing",
        ),
    }
    __getattr__, __dir__ = _attached(
        __name__,
        {name: f"_foreign.images.{home}" for name, home in _HOMES.items()},
    )
