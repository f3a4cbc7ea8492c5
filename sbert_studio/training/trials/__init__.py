"""Runs of several trainings: stages, seeds and folds."""
