"""What an agreement becomes: Kueue's objects, KAI's, and what a team's namespaces get.

A plan has numbers; a cluster wants objects. This room is the translation, and nothing else: a plan goes in, plain
dicts come out, with keys in the order of the API. The same functions feed `tenancy render`, the Pulumi components,
`verify` and the diff, so that no two of them can differ. There is one builder for each kind of object.

- `kueue` says how a promise becomes three numbers on a tree of Cohorts and ClusterQueues.
- `kai` builds a tree of queues for each flavor, with a root of its own for what a team never lends.
- `access` gives a namespace its label, LocalQueues, rights, quotas and admission policies. `kubeflow` builds
  Profiles.
- `configuration` writes Kueue's own Configuration, as values of its chart, where an agreement needs a switch of it.
- `identity` says what an object is called, `manifest` writes YAML that YAML 1.1 and Kubernetes read alike.

The two schedulers are two modules with the same few function names (`files`, `objects`): the interface is that, and
no base class. What they differ in by name is in `schedulers`.

Public: `files(plan)` and `objects(plan)` of `kueue` and `kai`, `access.files`, `identity.reference`, and the table of
kinds.

Must not touch: a cluster, files (`review.render` writes them), the text of an agreement. Nothing here parses a
quantity or asks whether a key was given: the plan has the answer.
"""
