"""The map on the page: drawn, listed from, labelled, saved."""
