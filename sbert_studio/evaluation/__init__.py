"""An encoder becomes scores."""
