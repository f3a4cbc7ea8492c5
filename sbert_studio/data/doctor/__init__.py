"""What is wrong with a training file, where, and the mend."""
