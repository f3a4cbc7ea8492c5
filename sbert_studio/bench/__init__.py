"""Our speed beside a peer's, on the same work, in one run."""
