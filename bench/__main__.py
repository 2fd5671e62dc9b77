"""`make bench`: every part that needs no cluster."""

import sys

from .render import main

sys.exit(main())
