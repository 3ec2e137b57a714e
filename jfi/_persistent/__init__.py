"""Compiled programs that outlive the process: `persistent`, `enable_cache`.

A persistent function is what autojit makes of it; what XLA compiled is kept. autojit's
graph of a call, written down without identities, is the key (`_description`).

| module | holds |
| --- | --- |
| `_public` | what users call; read it first |
| `_keepers`, `_kept` | who keeps programs; one program, which stands for `jax.jit` |
| `_called_back` | programs that call back to Python |
| `_description`, `_refusals`, `fingerprint/` | what it is made of; why it is not kept |
| `_asked_for`, `_environment`, `_custom_rules` | arrays, options, rules: the rest |
| `_places`, `_store` | where programs are; files |
| `_records`, `_structures` | what files say; what results are put into, as data |
| `_served`, `_arrays`, `_hosted` | the server's programs, from both sides |
| `_remote`, `_handles` | programs, and arrays, in a server on another machine |
| `_python_code` | Python functions there, where the owner allows it |
| `_exported`, `_remote_store` | what travels there; what it keeps |
| `_report` | what was found and saved |
"""

from ._arrays import devices as devices, placed as placed
from ._hosted import hosted as hosted
from ._public import (
    cache_report as cache_report,
    enable_cache as enable_cache,
    on_server as on_server,
    persistent as persistent,
    persistent_call as persistent_call,
    use_server as use_server,
)
from ._python_code import remote as remote
from ._remote_store import RemoteStore as RemoteStore
from ._report import CacheReport as CacheReport


__all__ = [
    "CacheReport",
    "RemoteStore",
    "cache_report",
    "devices",
    "enable_cache",
    "hosted",
    "on_server",
    "persistent",
    "persistent_call",
    "placed",
    "remote",
    "use_server",
]
