"""Rules for what jfi has a function or a class for: each part has its own."""

import sys
from typing import Any

from ._registry import jaxify


@jaxify.register("haiku.Transformed")
@jaxify.register("haiku.TransformedWithState")
def _haiku(network: Any) -> Any:
    from .._haiku import from_haiku

    return from_haiku(network)


@jaxify.register("torch.nn.Module")
def _torch_module(module: Any) -> Any:
    from ..torch import from_torch

    return from_torch(module)


@jaxify.register("torch.Tensor")
def _torch_tensor(tensor: Any) -> Any:
    from ..torch import from_torch

    return from_torch(lambda: tensor.detach())()


@jaxify.register("scipy.spatial.cKDTree")
def _tree(tree: Any) -> Any:
    from ..kdtree import KDTree

    return KDTree(tree.data, leafsize=tree.leafsize, boxsize=tree.boxsize)


@jaxify.register("pytensor.graph.basic.Variable")
@jaxify.register("pytensor.graph.fg.FunctionGraph")
def _pytensor(graph: Any, **options: Any) -> Any:
    from ..pytensor import from_pytensor

    return from_pytensor(graph, **options)


@jaxify.register(list)
@jaxify.register(tuple)
def _several(outputs: Any, **options: Any) -> Any:
    base = getattr(sys.modules.get("pytensor.graph.basic"), "Variable", None)
    if base is None or not all(isinstance(out, base) for out in outputs):
        raise NotImplementedError(
            "of sequences it takes those of PyTensor's variables only"
        )
    return _pytensor(outputs, **options)


@jaxify.register("pytensor.compile.executor.Function")
@jaxify.register("pytensor.compile.function.types.Function")
def _compiled_pytensor(function: Any) -> Any:
    raise NotImplementedError(
        "PyTensor has compiled it. Pass the variables that it was made of, "
        "jaxify([out], inputs=[x, y])"
    )


@jaxify.register("scipy.interpolate.PPoly")
def _pieces(spline: Any) -> Any:
    from ..interpolation import PPoly

    return PPoly.of_scipy(spline)


@jaxify.register("scipy.interpolate.BPoly")
def _bernstein(polynomial: Any) -> Any:
    import scipy.interpolate

    from ..interpolation import PPoly

    in_powers: Any = scipy.interpolate.PPoly.from_bernstein_basis(polynomial)
    return PPoly.of_scipy(in_powers)


@jaxify.register("scipy.interpolate.BSpline")
def _b_spline(spline: Any) -> Any:
    from ..interpolation import BSpline

    return BSpline.of_scipy(spline)


@jaxify.register("scipy.interpolate.UnivariateSpline")
def _univariate(spline: Any) -> Any:
    from ..interpolation import UnivariateSpline

    return UnivariateSpline.of_scipy(spline)


@jaxify.register("scipy.interpolate.BivariateSpline")
def _bivariate(spline: Any) -> Any:
    from ..interpolation import BivariateSpline

    return BivariateSpline.of_scipy(spline)


@jaxify.register("scipy.interpolate.RegularGridInterpolator")
def _grid(interpolator: Any) -> Any:
    from ..interpolation import RegularGridInterpolator

    return RegularGridInterpolator.of_scipy(interpolator)


@jaxify.register("scipy.interpolate.RBFInterpolator")
def _radial(interpolator: Any) -> Any:
    from ..interpolation import RBFInterpolator

    return RBFInterpolator.of_scipy(interpolator)


@jaxify.register("scipy.interpolate.interp1d")
def _interp1d(interpolator: Any) -> Any:
    from ..interpolation import interp1d

    return interp1d.of_scipy(interpolator)
