"""The official client on the responses wire, in front of a provider that only speaks chat completions."""
import os

import openai

client = openai.OpenAI(base_url=os.environ["BASE"] + "/v1", api_key=os.environ["TOKEN"])

response = client.responses.create(model="m", input="hi", instructions="Be brief.")
assert response.output_text == "Hello from the script", response
assert response.usage.total_tokens == 18
with client.responses.stream(model="m", input="hi") as events:
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == "Hello from the script", text
    final = events.get_final_response()
    assert final.status == "completed" and final.output_text == text
tool = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
with client.responses.stream(model="m", input="weather?", tools=[tool]) as events:
    for event in events:
        pass
    assert events.get_final_response().output[0].arguments == '{"city":"Oslo"}'
try:
    client.responses.create(model="m", input="x", tools=[{"type": "local_shell"}])
except openai.BadRequestError as error:
    assert "local_shell" in error.body["message"]
else:
    raise SystemExit("expected an error")
print("done")
