"""What panels are put together from: controls, forms, views, plots, questions."""
