"""What can be searched: one file a source, with its whole life. The file name is `Passage.source`."""
