"""Backbones for inference alone: the commonest families, read without the library's modelling code, to the same bits.

Importing that code takes two seconds and 140 MB, most of it for generation, training and other kinds of hardware.
"""
