"""What the columns of a table are: one text, triplets, or pairs with or without a target."""
