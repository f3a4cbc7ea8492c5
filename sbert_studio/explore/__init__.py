"""Vectors become what a person sees: neighbours, pairs, maps, clusters."""
