"""The official client against the bridge: plain, streaming, tools, errors, on both of its wires."""
import os

import openai

client = openai.OpenAI(base_url=os.environ["BASE"] + "/v1", api_key=os.environ["TOKEN"])
ask = [{"role": "user", "content": "hi"}]
tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}

assert [model.id for model in client.models.list()] == ["m"]

plain = client.chat.completions.create(model="m", messages=ask)
assert plain.choices[0].message.content == "Hello from the script", plain
assert plain.usage.total_tokens == 18

stream = client.chat.completions.create(model="m", messages=ask, stream=True, stream_options={"include_usage": True})
chunks = list(stream)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert text == "Hello from the script", text
assert chunks[-1].usage.completion_tokens == 7

call = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "weather?"}], tools=[tool])
assert call.choices[0].message.tool_calls[0].function.name == "weather"

response = client.responses.create(model="m", input="hi")
assert response.output_text == "Hello from the script", response
with client.responses.stream(model="m", input="hi") as events:
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == "Hello from the script", text
    assert events.get_final_response().usage.input_tokens == 11
call = client.responses.create(model="m", input="weather?", tools=[{"type": "function", "name": "weather", "parameters": {}}])
assert call.output[0].name == "weather", call

for expected, make in [
    (openai.PermissionDeniedError, lambda: client.chat.completions.create(model="gpt-other", messages=ask)),
    (openai.PermissionDeniedError, lambda: client.responses.create(model="m", input="x", tools=[{"type": "web_search"}])),
    (openai.BadRequestError, lambda: client.chat.completions.create(model="m", messages=[{"role": "user", "content": "break"}])),
    (openai.NotFoundError, lambda: client.embeddings.create(model="m", input="x")),
    (openai.AuthenticationError, lambda: client.with_options(api_key="wrong").models.list()),
]:
    try:
        make()
    except expected as error:
        assert error.body["message"], error
    else:
        raise SystemExit(f"expected {expected.__name__}")
print("done")
