"""The arithmetic of the tree: what a queue may use, who must give, who lends to whom, what broken nodes leave.

Kueue decides on a tree, from the numbers on its Cohorts and ClusterQueues and from what is in use: a team is a node that
owns its guarantee, lends a part of it while that part is idle, and may borrow up to a limit. Many questions of people are
that decision, asked in advance: how far can this team go, whose job would be preempted, does this job ever start, is the
promise violated or does the job only wait for capacity to borrow. This room answers them without a cluster.

- `tree` is the node: what it owns, uses and can still get, and from whom it may take back.
- `kueue_model` builds the tree of an agreement for one flavor, as Kueue does. Tests hold it against a real Kueue, with
  generated agreements and jobs (docs/decisions/0022-one-arithmetic-and-where-kueue-leaves-it.md says where they differ).
- `reach` says how far a team gets on an empty cluster.
- `availability` says what one job of a queue can get now, and which limit is in its way.
- `reclaim` says which jobs Kueue would preempt for a team that takes its own back. `jobs` is a job as it sees one.
- `lending` splits what a team has into its own and what it borrows, and names the lenders.
- `shortfall` says which promises can be kept with the nodes that are usable.

All amounts are whole units of one flavor; CPU and memory follow them by the flavor's ratio. All functions are pure: a plan
and what is in use go in, numbers come out. KAI builds another tree, whose amounts are in `objects.kai.amounts`; a team
reaches as far in either.

Public: the functions of these modules. `status`, `review` and `verify` take their numbers from here.

Must not touch: a cluster client, text for people, objects as dicts.
"""
