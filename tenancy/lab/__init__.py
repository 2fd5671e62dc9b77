"""A real control plane on one machine, with simulated GPU nodes, and the tools it needs.

A test against a mocked API server proves what its author believed. This room starts the real programs: etcd,
kube-apiserver, the controller manager and the scheduler, then Kueue, and on request KAI Scheduler, JobSet and
Trainer, KubeVirt. Only nodes are simulated: no kubelet, no container, no GPU. It needs no Docker and no account.

- `tools` and `gobuild` make the programs from pinned Go modules, in a cache that all clones share
  (docs/decisions/0002-tools-from-go-modules.md).
- `controlplane`, `processes` and `ports` start them and keep them; `controllers` has one row for each program beside
  the control plane.
- `nodes` makes nodes with the labels, taints and devices that the agreement gives them, and plays the kubelet.
- `manifests`, `webhooks` and `cluster` install what each controller brings. `kind` does the same on a real kind
  cluster.
- `folder` and `progress`: where a lab lives, and what it tells who waits for it.

`make up` and all tests in tests/on_lab stand on it. The commands are `tenancy lab up`, `down`, `status` and their
like.

Must not touch: what an agreement means. It takes a plan for the shape of its nodes. No room but `cli` imports it, so
that the product never depends on the lab.
"""
