"""What was said in a conversation: sessions, messages, windows of them."""
