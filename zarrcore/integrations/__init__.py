"""zarrcore inside of other packages; each module needs the package in its name."""
