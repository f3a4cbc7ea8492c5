"""Reading and checking data: tables, corpora, training examples and their problems."""
