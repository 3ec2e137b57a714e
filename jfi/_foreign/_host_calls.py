"""`host_call` and what goes with it, under the names that they had first."""

from .host import (
    canonical as canonical,
    describe as describe,
    host_call as host_call,
    runs_now as runs_now,
    to_jax as to_jax,
)
