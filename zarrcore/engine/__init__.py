"""What runs the plan of a call: the engine in C, or the one in Python for what only Python has."""
