"""What LangChain's ChatOpenAI sees of a server: argument 1 is its base URL."""

import json
import sys

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

chat = ChatOpenAI(model="handbook", base_url=sys.argv[1], api_key="none")
QUESTION = "How many days of leave do employees have?"
answer = chat.invoke(QUESTION).content
streamed = "".join(piece.content for piece in chat.stream(QUESTION) if isinstance(piece.content, str))
said = [SystemMessage("Be brief."), HumanMessage(QUESTION), AIMessage(answer), HumanMessage("When are salaries paid?")]
print(json.dumps({"answer": answer, "streamed": streamed, "follow_up": chat.invoke(said).content}))
