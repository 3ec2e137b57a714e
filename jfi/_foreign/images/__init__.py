"""SciPy's filters of images (`scipy.ndimage`) in JAX, without a host call.

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
