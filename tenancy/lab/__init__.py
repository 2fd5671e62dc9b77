"""A real control plane on one machine with simulated GPU nodes, and the tools it needs."""
