"""What the openai client of today sees of a server: argument 1 is its base URL."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none")
QUESTION = "How many days of leave do employees have?"
ASKED = [{"role": "user", "content": QUESTION}]
told = {"models": [model.id for model in client.models.list()]}
told["retrieved"] = client.models.retrieve("cairn/handbook:fast").id

done = client.chat.completions.create(model="handbook", messages=ASKED)
told["answer"] = done.choices[0].message.content
told["annotation"] = done.choices[0].message.annotations[0].url_citation.model_dump()
told["citation"] = done.citations[0]

pieces = []
options = {"include_usage": True}
for chunk in client.chat.completions.create(model="handbook", messages=ASKED, stream=True, stream_options=options):
    if chunk.choices:
        pieces.append(chunk.choices[0].delta.content or "")
    if chunk.usage:
        told["usage_chunk"] = chunk.usage.model_dump(include={"prompt_tokens", "completion_tokens", "total_tokens"})
told["streamed"] = "".join(pieces)

response = client.responses.create(model="cairn/handbook", input=QUESTION, instructions="Be brief.")
told["response"] = response.output_text
told["response_annotation"] = response.output[0].content[0].annotations[0].model_dump()

told["events"], pieces = [], []
with client.responses.stream(model="handbook", input=ASKED) as stream:
    for event in stream:
        told["events"].append(event.type)
        if event.type == "response.output_text.delta":
            pieces.append(event.delta)
    told["response_final"] = stream.get_final_response().output_text
told["response_streamed"] = "".join(pieces)

texts = ["days of leave", "salaries"]
told["embeddings"] = [one.embedding for one in client.embeddings.create(model="handbook", input=texts).data]
told["embeddings_float"] = [
    one.embedding for one in client.embeddings.create(model="handbook", input=texts, encoding_format="float").data
]

told["errors"] = {}
for name, call in {
    "unknown model": lambda: client.chat.completions.create(model="nobody", messages=ASKED),
    "tools": lambda: client.chat.completions.create(
        model="handbook", messages=ASKED, tools=[{"type": "function", "function": {"name": "f"}}]
    ),
    "no question": lambda: client.responses.create(model="handbook", input=[{"role": "assistant", "content": "Hi"}]),
    "unknown embedding": lambda: client.embeddings.create(model="nobody", input="x"),
}.items():
    try:
        call()
    except openai.APIStatusError as error:
        told["errors"][name] = [type(error).__name__, error.code]
print(json.dumps(told))
