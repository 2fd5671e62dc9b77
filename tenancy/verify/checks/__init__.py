"""The agreement's promises as checks that a live cluster can be put to."""
