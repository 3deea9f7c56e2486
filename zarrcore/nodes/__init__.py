"""Nodes in stores: the documents of arrays and groups are found, opened, created, changed and removed here.

Metadata know no stores, and stores know no metadata: this is where both meet.  Functions take a
:class:`~zarrcore.storage.StorePath` and return metadata, never arrays or groups.
"""
