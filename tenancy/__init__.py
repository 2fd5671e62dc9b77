"""One agreement between teams that share GPUs, and all that is computed from it."""
