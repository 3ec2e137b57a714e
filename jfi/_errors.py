"""The exceptions and warnings that jfi raises.

Every one derives from `JfiError` (or `JfiWarning`) and from the builtin that a
Python user would expect, so that either can be caught:

    JfiError
    ├── AutoJitError (TypeError)            autojit can't compile this
    │   └── AutoJitOptionError (ValueError)     ... or does not have this option
    ├── BatchError (TypeError, ValueError)  what vmap can't map, or finds no batch in
    │   └── AmbiguousBatchError             ... or finds several
    ├── CallbackError (RuntimeError)        a host function can't run inside JAX
    ├── ComparisonError (AssertionError)    a converted object differs from the original
    ├── DefaultsError (TypeError, ValueError)  a dtype that is not there
    │   └── DeviceError (RuntimeError)          ... or a device
    ├── DerivativeError (TypeError)         what has no derivative
    │   └── TangentError (ValueError)           ... or a tangent that does not fit
    ├── FingerprintError (ValueError)       a function that can't be identified
    ├── HaikuError (TypeError)              what from_haiku can't wrap
    ├── ImageError (TypeError, ValueError)  what a filter of images can't take
    ├── InterpolationError (TypeError, ValueError)  knots or values that don't fit
    ├── JaxifyError (NotImplementedError, TypeError)  what jaxify can't translate
    ├── KDTreeError (ValueError)            data or queries that a KDTree can't take
    ├── LoopError (TypeError, ValueError)   functions or rows that don't fit a loop
    ├── MaterialiseError (TypeError)        a custom array may not become a plain one
    ├── MissingDependencyError (ImportError)  an optional package is not installed
    ├── RandomError (RuntimeError)          no fresh random number can be given here
    ├── RemoteError (RuntimeError)          a server on another machine can't do it
    ├── SolverError (ValueError)            what a solver of jfi.scipy can't take
    ├── StateError (ValueError)             what can't be saved, or is not in a file
    └── TreeError (TypeError)               a class or an object that is no tree of data

    JfiWarning (UserWarning)
    ├── CacheWarning                        the store of compiled programs is no use
    ├── Float64Warning                      float32 becomes float64 in compiled code
    ├── LateDefaultsWarning                 jfi was imported too late to set a default
    ├── LocalFallbackWarning                a persistent function runs in this process
    ├── LostWriteWarning                    a function under grad writes to a copy
    ├── MaterialiseWarning                  a custom array becomes a plain one
    ├── PlainJitWarning                     a program of plain JAX draws random numbers
    ├── RecompileWarning                    autojit compiles again and again
    ├── RepeatedDrawWarning                 NumPy draws once for many calls or rows
    ├── SlowCallWarning                     a large array is copied at each call
    └── UncompiledWarning                   something runs uncompiled, and why
"""

__all__ = [
    "AmbiguousBatchError",
    "AutoJitError",
    "AutoJitOptionError",
    "BatchError",
    "CacheWarning",
    "CallbackError",
    "ComparisonError",
    "DefaultsError",
    "DerivativeError",
    "DeviceError",
    "FingerprintError",
    "Float64Warning",
    "HaikuError",
    "ImageError",
    "InterpolationError",
    "JaxifyError",
    "JfiError",
    "JfiWarning",
    "KDTreeError",
    "LateDefaultsWarning",
    "LocalFallbackWarning",
    "LoopError",
    "MaterialiseError",
    "LostWriteWarning",
    "MaterialiseWarning",
    "MissingDependencyError",
    "PlainJitWarning",
    "RandomError",
    "RemoteError",
    "RecompileWarning",
    "RepeatedDrawWarning",
    "SlowCallWarning",
    "SolverError",
    "StateError",
    "TangentError",
    "TreeError",
    "UncompiledWarning",
]


class JfiError(Exception):
    """Base of every error that jfi raises itself."""


class AutoJitError(JfiError, TypeError):
    """`autojit` can't compile these arguments or this function."""


class AutoJitOptionError(AutoJitError, ValueError):
    """An option of `autojit` names no parameter, or is none."""


class BatchError(JfiError, TypeError, ValueError):
    """`vmap` can't map this, or finds no batch dimension that fits."""


class AmbiguousBatchError(BatchError):
    """`vmap_automatically` finds more than one batch dimension that fits."""


class CallbackError(JfiError, RuntimeError):
    """A host function can't run inside JAX."""


class ComparisonError(JfiError, AssertionError):
    """A converted object differs from the original."""


class DefaultsError(JfiError, TypeError, ValueError):
    """There is no such dtype or device here, or no way to set it."""


class DeviceError(DefaultsError, RuntimeError):
    """There is no such device here."""


class DerivativeError(JfiError, TypeError):
    """This has no derivative, or none of this kind."""


class TangentError(DerivativeError, ValueError):
    """A tangent or cotangent does not fit what it is given for."""


class FingerprintError(JfiError, ValueError):
    """A function has no identity that holds in another process."""


class HaikuError(JfiError, TypeError):
    """`from_haiku` got something that it can't wrap."""


class ImageError(JfiError, TypeError, ValueError):
    """A filter of images can't take these arguments."""


class InterpolationError(JfiError, TypeError, ValueError):
    """An interpolator can't be made of these knots or values, or asked this."""


class JaxifyError(JfiError, NotImplementedError, TypeError):
    """`jaxify` can't translate this, or its result can't take these arguments."""


class KDTreeError(JfiError, ValueError):
    """A `KDTree` can't be built from these data, or asked this."""


class LoopError(JfiError, TypeError, ValueError):
    """The functions of a loop or a branch, or its data, don't fit together."""


class MaterialiseError(JfiError, TypeError):
    """A custom array can't become a plain one, or may not."""


class MissingDependencyError(JfiError, ImportError):
    """An optional package is needed and not installed."""


class RandomError(JfiError, RuntimeError):
    """A random number was asked for where jfi can't give a fresh one."""


class RemoteError(JfiError, RuntimeError):
    """A server on another machine has an array no more, or can't do what was asked."""


class SolverError(JfiError, ValueError):
    """A solver of `jfi.scipy` can't take this function, start or method."""


class StateError(JfiError, ValueError):
    """A state can't be saved, or a file does not hold this one."""


class TreeError(JfiError, TypeError):
    """A class can't be a tree, or an object of it hides data from JAX."""


class JfiWarning(UserWarning):
    """Base of every warning of jfi."""


class CacheWarning(JfiWarning):
    """The store of compiled programs can't be used, or holds something damaged."""


class Float64Warning(JfiWarning):
    """Code is compiled in which float32 becomes float64."""


class LateDefaultsWarning(JfiWarning):
    """A default could not be set because JAX had already started."""


class LocalFallbackWarning(JfiWarning):
    """A persistent function runs in this process, without the server."""


class LostWriteWarning(JfiWarning):
    """A function under `grad` writes to the object that it got, which is a copy."""


class MaterialiseWarning(JfiWarning):
    """A custom array becomes a plain one, since a function has no rule for it."""


class PlainJitWarning(JfiWarning):
    """A program that plain JAX compiled draws random numbers."""


class RecompileWarning(JfiWarning):
    """A function under `autojit` is compiled again and again for one value."""


class RepeatedDrawWarning(JfiWarning):
    """A function draws by NumPy or Python once, where plain Python draws anew."""


class SlowCallWarning(JfiWarning):
    """Compiled code reads a large NumPy array outside: it is copied at each call."""


class UncompiledWarning(JfiWarning):
    """Something runs uncompiled: it reads what changes unseen, calls back ..."""


# The errors print, pickle and document as `jfi.AutoJitError`, where users find them.
for _name in __all__:
    globals()[_name].__module__ = "jfi"
