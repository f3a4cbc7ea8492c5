"""What two models make of the same texts: whose neighbours are others, which pairs moved, and how one map lies on the other."""
