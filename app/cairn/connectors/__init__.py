"""Reading from where documents live: what a source of documents lists and gives, whatever stores it."""
