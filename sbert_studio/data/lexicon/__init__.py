"""The words of columns and labels in the languages that tables come in, and what they say."""
