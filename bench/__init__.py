"""What is slow, measured beside what one would run instead: `python -m bench`, or one part, `python -m bench.render`."""
