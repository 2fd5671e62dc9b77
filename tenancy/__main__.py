"""`python -m tenancy`."""

from .cli import main

main()
