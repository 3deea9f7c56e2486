"""Speed of zarrcore against its peers, measured together: see README.md."""
