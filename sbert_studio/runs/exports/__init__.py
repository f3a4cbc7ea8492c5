"""What leaves a run: zips, scripts that verify, TensorBoard."""
