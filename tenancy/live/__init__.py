"""What needs a cluster: reach it, read who has what."""
