"""What to write for names of the older jfi, as lines that run: see `_torch_lines`."""

#: For each module, the line to write for a name.
INSTEAD: dict[str, dict[str, str]] = {
    "jfi": {
        "auto_pmap": "jnp.vmap_automatically(loss, x, batch_size=3, devices='cpu')",
        "device_select": "jax.lax.platform_dependent(x, cpu=loss, default=loss)",
        "init": "import jfi as jnp  # nothing has to be started",
        "nestedautojit": "jnp.autojit(loss)  # it opens dicts, lists and objects",
    }
}
