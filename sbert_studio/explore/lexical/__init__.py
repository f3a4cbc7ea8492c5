"""Search by words: texts become weights of words, and a query the rows that share its words."""
