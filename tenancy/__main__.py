"""`python -m tenancy`, by whichever Python: one without our packages hands over to the checkout's own environment."""

import os
import sys
from pathlib import Path

try:
    from .cli import main
except ModuleNotFoundError as error:
    if str(error.name).partition(".")[0] == __package__:
        raise
    own = Path(__file__).resolve().parents[1] / ".venv" / "bin" / "python"
    if not own.exists() or Path(sys.prefix) == own.parents[1]:
        print(
            f"tenancy: the Python package {error.name!r} is missing; run `make setup`, or pip install .",
            file=sys.stderr,
        )
        sys.exit(2)
    os.execv(own, [str(own), "-m", "tenancy", *sys.argv[1:]])

main()
