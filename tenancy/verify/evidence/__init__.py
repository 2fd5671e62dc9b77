"""What a run of `verify` saw, and the forms it is shown in."""
