"""Prove the agreement's promises on a cluster: each check is played on a replica of the agreement's objects."""
