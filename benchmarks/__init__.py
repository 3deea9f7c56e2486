"""Speed of zarrcore against its peers, measured side by side: see README.md."""
