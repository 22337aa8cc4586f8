"""`import cairn.langchain`: a retriever for LangChain (docs/clients.md); the code is app.client.langchain."""

from app.client.langchain import *
