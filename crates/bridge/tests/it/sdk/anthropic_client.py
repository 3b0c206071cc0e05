"""The official client against the bridge: plain, streaming, tools, errors."""
import os

import anthropic

client = anthropic.Anthropic(base_url=os.environ["BASE"], api_key=os.environ["TOKEN"])
ask = [{"role": "user", "content": "hi"}]
tool = {"name": "weather", "input_schema": {"type": "object", "properties": {}}}

assert [model.id for model in client.models.list()] == ["m"]

plain = client.messages.create(model="m", max_tokens=50, messages=ask, metadata={"user_id": "device"})
assert plain.content[0].text == "Hello from the script", plain
assert plain.usage.output_tokens == 7

with client.messages.stream(model="m", max_tokens=50, messages=ask) as stream:
    assert "".join(stream.text_stream) == "Hello from the script"
    assert stream.get_final_message().usage.output_tokens == 7

call = client.messages.create(model="m", max_tokens=50, messages=[{"role": "user", "content": "weather?"}], tools=[tool])
assert call.stop_reason == "tool_use" and call.content[0].input == {"city": "Oslo"}

for expected, make in [
    (anthropic.PermissionDeniedError, lambda: client.messages.create(model="other", max_tokens=5, messages=ask)),
    (anthropic.PermissionDeniedError, lambda: client.messages.create(
        model="m", max_tokens=5, messages=ask, tools=[{"type": "web_search_20250305", "name": "web_search"}])),
    (anthropic.BadRequestError, lambda: client.messages.create(
        model="m", max_tokens=5, messages=[{"role": "user", "content": "break"}])),
    (anthropic.NotFoundError, lambda: client.messages.count_tokens(model="m", messages=ask)),
    (anthropic.AuthenticationError, lambda: client.with_options(api_key="wrong").models.list()),
]:
    try:
        make()
    except expected as error:
        assert error.body["error"]["message"], error
    else:
        raise SystemExit(f"expected {expected.__name__}")
print("done")
