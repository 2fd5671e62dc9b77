"""Prove the agreement's promises on a cluster: each promise is a check, played with real jobs in a sandbox.

That an object is on the cluster proves nothing of what the scheduler does with it. So each promise becomes a check: a
short script of jobs that are submitted, with what must then be admitted, wait or be preempted. The check runs on the
cluster that the agreement is for, on the real scheduler, and beside the teams' own jobs.

- `checks` makes the checks from a plan. They are data, pure, one function for each kind, and no cluster is needed to
  list them.
- `players` carry a check out: `kueue`, `kai`, and `kubevirt` for virtual machines. A player makes a sandbox first,
  which is a copy of the agreement's queues on nodes or quota of the run's own, so that no team's job is touched.
  `expect` and `timeline` say what was seen.
- `play`, `run` and `session` put checks in an order, share sandboxes between them, and stop early where the cluster
  changes under them.
- `safety` decides whether a run may start, and holds a lease so that two never run at once. `clean` removes what a
  killed run left behind.
- `evidence` shows the result: on the terminal, as JSON, as JUnit XML, as one HTML page.

A check passes, fails, or is not run and says why. What a check on each scheduler can claim is written down in
docs/decisions/0023-what-a-check-on-kueue-can-claim.md and docs/decisions/0024-what-a-check-on-kai-can-claim.md.

Must not touch: `lab`. The lab is one cluster among others; nothing here may work only there.
"""
