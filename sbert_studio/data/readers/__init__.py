"""One file a format; each turns a file into :class:`~sbert_studio.data.readers.rows.Content`."""
