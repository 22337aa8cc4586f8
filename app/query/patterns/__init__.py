"""What rules know of four languages, as data: words, phrases and patterns. Pure; nothing here decides."""
