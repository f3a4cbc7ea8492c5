"""Asked for → planned → started → followed → settled: a training as the studio sees it."""
