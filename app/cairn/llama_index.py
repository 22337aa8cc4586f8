"""`import cairn.llama_index`: a retriever for LlamaIndex (docs/clients.md); the code is app.client.llama_index."""

from app.client.llama_index import *
