"""A GPU that is lent for a while at a time, as Spaces on ZeroGPU do."""
