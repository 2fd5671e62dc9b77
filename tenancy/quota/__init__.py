"""Who may use what: the arithmetic of the tree of quotas, over the agreement's numbers.

A scheduler decides on a tree. In Kueue's, a team is a node that owns its guarantee, lends a part of it to its siblings while that
part is idle, and may go a stated amount above it on what they lend. Everybody here who says what a team can get reads that one tree:

- `tree`: the node, with what it owns, what it uses and what it can still get, and from whom it may take back;
- `kueue_model`: the tree that Kueue builds from an agreement, for one flavor. A real Kueue is held against it;
- `reach`: how far a team gets on an empty cluster;
- `availability`: what one job of a queue can get now, and which limit is in its way;
- `reclaim`: which jobs Kueue would preempt for one that takes back what is its queue's own (`jobs`: a job as it sees one);
- `lending`: who lends to whom;
- `shortfall`: which promises can be kept with the nodes that are usable.

All amounts are whole units of one flavor; CPU and memory follow them by the flavor's ratio. KAI builds another tree, and its amounts
are in `objects.kai.amounts`; the agreement makes the two so that a team reaches as far in either.
"""
