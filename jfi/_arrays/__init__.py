"""Arrays: which dtype and device new ones get, and the functions that make them.

`_config` holds the defaults, `_devices` what names a device, `_placement` what both
mean for data. `_creation`, `_ranges` and `_conversion` make arrays; what `dtype=` and
`device=` mean to all of them stands in `_shared_arguments`, sizes one by one in
`_sizes`, PyTorch's other words in `_torch_words`. `_float64` watches for wider floats,
`_surroundings` are settings to send.
"""
