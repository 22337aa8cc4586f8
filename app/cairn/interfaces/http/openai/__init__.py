"""The OpenAI API: collections as models, for clients that know no other one (docs/openai.md)."""
