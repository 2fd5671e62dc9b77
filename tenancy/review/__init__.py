"""Before a change: what an agreement means, what a change of it would do, how exactly each promise is kept.

An agreement is negotiated and then reviewed in a pull request. Who reviews it reads no quotas: the question is who
gets more, who pays, what becomes impossible, and whether the cluster can do it without replacing objects. This room
answers that in the words of the agreement.

- `show` prints the agreement as a tree, or draws it.
- `diff` compares two agreements. It has a part for each kind of question, and `facts` for every key that is no number
  of a team.
- `fidelity` says per promise and scheduler: exact, approximate (and how), or refused (and why). Nothing is dropped in
  silence.
- `nodes` holds the agreement against the nodes of a cluster.
- `importing` goes the other way: objects that exist become an agreement, with a list of all that it does not say.
- `rules` are the rules of the policy pack. `update_warnings` are the sentences that a Pulumi preview shows.
- `render` writes the files, all or none. It stands here because one of the files is the fidelity report
  (docs/decisions/0035-rooms-as-built.md).

Results are values first and text second: `diff.compare` returns a Difference, and `text`, `markdown` and `data` each
print it.

Must not touch: `status` and `verify`. Only the parts that look beside what runs (`diff.running`, `diff.drift`,
`importing.read`) know a client.
"""
