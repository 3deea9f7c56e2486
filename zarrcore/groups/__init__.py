"""Groups, and what happens to whole hierarchies."""
