"""Packages that jfi does without until they are used, such as torch and tqdm."""
