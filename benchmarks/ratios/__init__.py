"""What the studio's speed is beside that of its peers, each work by turns with the peer in one run."""
