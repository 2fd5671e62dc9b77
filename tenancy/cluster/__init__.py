"""The one reading of a cluster: queues, jobs with their pod sets, nodes, and what stands in a job's way.

Status, why, diff beside what runs, verify, check against nodes, import and preflight all ask what a cluster holds.
When each reads for itself, each simplifies in another way, and then two commands say different things of the same
job. So they all ask this room, and what they get is typed: whoever reads a job's requests here has counted init
containers, sidecars and fractions of GPUs as the scheduler does.

A list is read in one way: in pages, with the kind that is not served as an empty list, and with a refusal (403) as a
sentence that says what could not be read. `objects.kinds`, the table of kinds, says of each kind its API version, its
plural, which of its fields nobody may change, and who may share it.

- `connection` finds out first whether the cluster answers, because a Pulumi preview against one that does not exits 0
  without a word.
- `listing` lists the objects of a kind, as plain data; `fields` takes them apart. `watch` follows a list.
- `clients` makes the client, and the classes of what is written through it.
- `requests` sums what a pod requests. It is the only sum.
- `queues` says whose a queue is, and `jobs` what a job is: its pod sets, what it holds of which flavor, since when.
- `usage` is what the queues' own status says is in use.
- `preflight` asks what is on the cluster already before Pulumi writes. `nodes` describes a node as far as an
  agreement is concerned, and `read_nodes` reads them.

The room reads. It writes nothing: what plays jobs is `verify`, what applies objects is Pulumi.

Must not touch: the rooms above it. It does not judge (`status` says what needs attention) and it does not print.
"""
