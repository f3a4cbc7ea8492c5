"""Steps: batches through the network, gradients into weights."""
