"""What only the owner of a table can say: the questions, and the answers."""
