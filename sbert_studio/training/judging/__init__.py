"""How good the model is: before, meanwhile and after, here and elsewhere."""
