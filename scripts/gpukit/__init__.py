"""What scripts/gpu-check is made of. Python's own library alone."""
