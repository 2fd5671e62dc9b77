"""Records a case of `tenancy why`: what a real cluster says of a job now, as tests/status/why/NAME.json.

    .venv/bin/python tests/record_why.py NAME JOB --agreement plain --kubeconfig PATH

The agreement is one of tests/status/why/*.toml, by its name, and must be the one that the cluster holds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tenancy.cluster.clients import connect
from tenancy.status.why import Wanted
from tenancy.status.why.read import read, scheduler_of

CASES = Path(__file__).parent / "status" / "why"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the case")
    parser.add_argument("job", help="NAME, NAMESPACE/NAME or KIND/NAME")
    parser.add_argument("--agreement", required=True, choices=sorted(file.stem for file in CASES.glob("*.toml")))
    parser.add_argument("--kubeconfig", required=True, help="`tenancy lab up` prints a lab's")
    given = parser.parse_args()
    client = connect(given.kubeconfig)
    scheduler = scheduler_of(client)
    snapshot = read(client, scheduler, Wanted.parse(given.job, ""))
    case = {
        "agreement": given.agreement,
        "now": snapshot.now.isoformat(),
        "objects": snapshot.objects,
        "scheduler": str(scheduler),
        "wanted": given.job,
    }
    (CASES / f"{given.name}.json").write_text(json.dumps(case, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
