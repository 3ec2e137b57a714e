"""Packages that jfi does without until they are used, such as torch and tqdm.

`_packages.require` imports one or names the extra that installs it; `_packages.attach`
imports jfi's own modules on first use. `_progress` shows bars, by tqdm.
"""
