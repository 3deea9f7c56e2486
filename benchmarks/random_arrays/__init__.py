"""Random arrays: zarrcore against its peers, or against itself on other numbers of threads."""
