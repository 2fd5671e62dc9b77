"""How numbers, times, names and tables are read and printed: one module for each, for every room.

Every room prints amounts, and several read quantities that Kubernetes wrote. When each does so in its own way, the
ways differ in the rare cases: `.5` is a quantity for one and an error for another, 12,000 seconds are `3 h 20 min`
here and `12000s` there. So the tools stand on the ground floor, below all rooms, and there is one of each.

A module here knows nothing of agreements or clusters. It takes a number or a text and gives a text or a number; it is
exact, and it raises ValueError with a sentence for a person where a text is wrong. The grammar of a quantity is
apimachinery's (k8s.io/apimachinery/pkg/api/resource), and the source stands in the module.

Who needs a new way to print something looks here first. If it is not here and two rooms need it, it comes here; if
one room needs it, it stays in that room.

Must not touch: any other room, files, the terminal, the clock.
"""
