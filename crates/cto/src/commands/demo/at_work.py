"""Works on the task of a demo's active run, in Codex's words, and runs every command that it names. argv: PART PACE."""
import json
import subprocess
import sys
import time

PART, PACE = sys.argv[1], float(sys.argv[2])
SLUG = "python3 -B -c 'import sys; from strings import slugify; print(slugify(sys.argv[1]))' '%s'"
TITLES = ["Hello, World!", "Whats new? (1987 - 1991)", "...to be continued...", "C#, D; E: the score", "50 % off: today only"]
TESTS = "python3 -B -m unittest -v test_strings"
COUNT = 0


def tell(kind, item):
    print(json.dumps({"type": kind, "item": item}), flush=True)


def say(text):
    tell("item.completed", {"type": "agent_message", "text": text})
    time.sleep(PACE)


def run(command):
    global COUNT
    COUNT += 1
    item = {"id": "item_%s_%d" % (PART, COUNT), "type": "command_execution", "command": command}
    tell("item.started", dict(item, aggregated_output="", exit_code=None, status="in_progress"))
    time.sleep(PACE)
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    status = "completed" if done.returncode == 0 else "failed"
    tell("item.completed", dict(item, aggregated_output=(done.stdout + done.stderr)[-2000:], exit_code=done.returncode, status=status))
    time.sleep(PACE)


if PART == "look":
    say("First I read the task, the two copies and their tests.")
    for command in ["ls -R", "cat strings.py", "cat src/strings.py", "cat test_strings.py", TESTS]:
        run(command)
    say("Now I try titles with punctuation, before I change anything.")
    for title in TITLES * 3:
        run(SLUG % title)
    say("Both copies keep punctuation. I remove it in one place of each, and add tests.")
else:
    paths = ["src/strings.py", "strings.py", "test_strings.py"]
    tell("item.completed", {"type": "file_change", "status": "completed", "changes": [{"path": path, "kind": "update"} for path in paths]})
    for command in [TESTS] + [SLUG % title for title in TITLES] + [TESTS]:
        run(command)
    say("Both copies of slugify drop punctuation now, and test_strings.py has tests for it. All tests pass.")
    print(json.dumps({"type": "turn.completed", "usage": {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}}), flush=True)
