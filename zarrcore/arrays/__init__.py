"""Arrays: opening, creating, reading, writing and changing them."""
