// A second stand-in for `ca`, apart from the one that ships: compiled by Bun, as the real program is, and written from what is
// known of that one's behaviour alone. It has no words to misbehave by.

import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const HELP = "Usage: ca <command> [options]\n\nCommands:\n  run      Start the pipeline of agents\n  create   Create a task\n";
const PHASES = [["implement", "implementer"], ["verify", "verifier"], ["review", "reviewer"], ["close", "closer"]];
const STATUS = { implement: "implementing", verify: "verifying", review: "reviewing", close: "closing" };
const AGENT_MS = 600_000;

const args = process.argv.slice(2);
if (args[0] === "--help" || args[0] === "-h") {
  process.stdout.write(HELP);
  process.exit(0);
}

const log = (level, msg, more) => process.stderr.write(JSON.stringify({ ts: new Date().toISOString(), level, msg, ...more }) + "\n");
const json = (path) => JSON.parse(readFileSync(path, "utf8"));

async function main() {
  // Flags that nobody knows are passed over.
  const at = args.findIndex((arg) => arg === "--task" || arg === "-t");
  if (at < 0 || !existsSync(args[at + 1] ?? "")) throw new Error("task file not found");
  const file = args[at + 1];
  const data = process.env.CASE_DATA_DIR;
  const config = json(join(data, "config.json"));
  const task = json(file);
  const project = json(join(data, "projects.json")).repos.find((repo) => repo.name === task.repo);
  if (!project) throw new Error(`Repo "${task.repo}" not found in projects.json`);
  mkdirSync(join(data, "pi-package"), { recursive: true });
  writeFileSync(join(data, "pi-package/package.json"), "{}\n");
  writeFileSync(join(process.env.PI_CODING_AGENT_DIR, "auth.json"), "{}\n");
  const brief = readFileSync(join(dirname(file), basename(file).replace(/\.task\.json$/, ".md")), "utf8");
  return pipeline({ file, task, brief, config, cwd: project.path, runId: crypto.randomUUID() });
}

async function pipeline(run) {
  const dir = join(run.cwd, ".case", run.task.id, "events");
  mkdirSync(dir, { recursive: true });
  run.events = join(dir, `run-${run.runId}.jsonl`);
  event(run, { event: "pipeline_start", taskId: run.task.id, profile: run.task.profile });
  let failedAgent;
  // A task that is not active any more goes to the retrospective at once, and that is a success.
  for (const [phase, agent] of run.task.status === "active" ? PHASES : []) {
    // It rewrites its own task file all the time.
    save(run, { status: STATUS[phase] });
    let result = await work(run, phase, agent);
    if (phase === "implement" && result.status !== "completed") result = await work(run, phase, agent);
    const bad = result.status !== "completed" || (phase === "review" && result.findings?.critical > 0);
    end(run, phase, agent, bad ? "failed" : "completed", result);
    if (bad) {
      process.stdout.write("[unattended] Auto-selecting: Abort\n");
      failedAgent = agent;
      break;
    }
    if (phase === "verify" || phase === "review") writeFileSync(join(dir, "..", phase === "verify" ? "tested" : "reviewed"), new Date().toISOString());
  }
  // Its result is a constant, whatever its agent says.
  await work(run, "retrospective", "retrospective");
  end(run, "retrospective", "retrospective", "completed", { status: "completed", summary: "Retrospective complete" });
  // Ends that nothing began are written too, and are wrong.
  for (const [phase, agent] of PHASES) event(run, { event: "phase_end", phase, agent, outcome: "skipped", durationMs: 0 });
  const outcome = failedAgent ? "failed" : "completed";
  event(run, { event: "pipeline_end", outcome, failedAgent, durationMs: 1 });
  save(run, { status: failedAgent ? "active" : "pr-opened", tested: true });
  log("info", "pipeline finished", { outcome, failedAgent, runId: run.runId, eventLog: run.events });
  process.stdout.write(`[unattended] Pipeline ${outcome}\n`);
  return 0;
}

function event(run, more) {
  run.sequence = (run.sequence ?? 0) + 1;
  appendFileSync(run.events, JSON.stringify({ ...more, ts: new Date().toISOString(), sequence: run.sequence, runId: run.runId }) + "\n");
}

const end = (run, phase, agent, outcome, result) => event(run, { event: "phase_end", phase, agent, outcome, durationMs: 1, result });
const save = (run, more) => writeFileSync(run.file, JSON.stringify(Object.assign(run.task, more), null, 2));
const failed = (error) => ({ status: "failed", summary: "", error });

async function work(run, phase, agent) {
  event(run, { event: "phase_start", phase, agent });
  process.stdout.write(`[unattended] [${phase}] starting ${agent}...\n`);
  try {
    const text = await converse(run, agent, AbortSignal.timeout(AGENT_MS));
    const start = text.lastIndexOf("<<<AGENT_RESULT");
    if (start < 0) return failed("AGENT_RESULT start delimiter not found");
    return JSON.parse(text.slice(start + 15, text.indexOf("AGENT_RESULT>>>", start)));
  } catch (error) {
    log("error", "agent spawn failed", { agent, error: error.message });
    return failed(`Agent spawn error: ${error.message}`);
  }
}

/// A malformed models.json is as good as none, and then the public address is asked.
function provider() {
  try {
    return json(join(process.env.PI_CODING_AGENT_DIR, "models.json")).providers.openai;
  } catch {
    return { baseUrl: "https://api.openai.com/v1" };
  }
}

async function converse(run, agent, signal) {
  const model = run.config.models?.[agent] ?? run.config.models?.default ?? { provider: "anthropic", model: "claude-sonnet-4-6" };
  const { baseUrl, api, models } = provider();
  if (model.provider !== "openai" || !models?.some((known) => known.id === model.model)) throw new Error(`Model not found: ${model.provider}/${model.model}`);
  if (!process.env.OPENAI_API_KEY) throw new Error("No API key for provider: openai");
  const chat = api === "openai-completions";
  const system = `You are the ${agent} of a pipeline.`;
  const history = chat
    ? [{ role: "system", content: system }, { role: "user", content: run.brief }]
    : [{ role: "system", content: system }, { role: "user", content: [{ type: "input_text", text: run.brief }] }];
  let said = "";
  for (let turn = 0; turn < 50; turn += 1) {
    const { text, calls } = await ask(baseUrl, chat, model.model, history, signal);
    said += text;
    if (calls.length === 0) return said;
    said += "\n";
    for (const call of calls) {
      const output = await bash(run, agent, JSON.parse(call.arguments).command);
      const fn = { name: call.name, arguments: call.arguments };
      if (chat) history.push({ role: "assistant", content: null, tool_calls: [{ id: call.id, type: "function", function: fn }] }, { role: "tool", tool_call_id: call.id, content: output });
      else history.push({ type: "function_call", call_id: call.id, ...fn }, { type: "function_call_output", call_id: call.id, output });
    }
  }
  return said;
}

/// Always streaming, always with a bearer key; a server's error is asked again twice.
async function ask(baseUrl, chat, model, history, signal) {
  const parameters = { type: "object", properties: { command: { type: "string" }, timeout: { type: "number" } }, required: ["command"] };
  const body = chat
    ? { model, stream: true, messages: history, tools: [{ type: "function", function: { name: "bash", parameters } }] }
    : { model, stream: true, store: false, input: history, tools: [{ type: "function", name: "bash", parameters }] };
  const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}`, "content-type": "application/json" };
  for (let tries = 0; ; tries += 1) {
    const answer = await fetch(`${baseUrl}/${chat ? "chat/completions" : "responses"}`, { method: "POST", headers, body: JSON.stringify(body), signal });
    if (answer.ok) return chat ? heardChat(await events(answer)) : heard(await events(answer));
    if (answer.status < 500 || tries === 2) throw new Error(`${answer.status} status code`);
  }
}

async function events(answer) {
  const [found, decoder] = [[], new TextDecoder()];
  let rest = "";
  for await (const chunk of answer.body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.startsWith("data:") && !line.includes("[DONE]")) found.push(JSON.parse(line.slice(5)));
  }
  return found;
}

/// Text that no part was announced for is dropped.
function heard(all) {
  let [text, part, calls] = ["", false, []];
  for (const event of all) {
    if (event.type === "response.content_part.added") part = true;
    if (event.type === "response.output_text.delta" && part) text += event.delta;
    if (event.type === "response.output_item.done" && event.item.type === "function_call") calls.push({ ...event.item, id: event.item.call_id });
  }
  return { text, calls };
}

function heardChat(all) {
  let [text, calls] = ["", []];
  for (const delta of all.map((event) => event.choices?.[0]?.delta ?? {})) {
    text += delta.content ?? "";
    for (const piece of delta.tool_calls ?? []) {
      const call = (calls[piece.index ?? 0] ??= { id: "", name: "", arguments: "" });
      call.id ||= piece.id ?? "";
      call.name += piece.function?.name ?? "";
      call.arguments += piece.function?.arguments ?? "";
    }
  }
  return { text, calls };
}

/// Each command has a session of its own, and every variable, the key too.
function bash(run, agent, command) {
  event(run, { event: "tool_start", phase: agent, agent, tool: "bash", args: command });
  return new Promise((resolve) => {
    const child = spawn("bash", ["-c", command], { cwd: run.cwd, detached: true, env: process.env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
    child.on("exit", (code) => {
      event(run, { event: "tool_end", phase: agent, agent, tool: "bash", isError: code !== 0, result: output.slice(0, 200) });
      resolve(output || `exit ${code}`);
    });
  });
}

try {
  process.exit(await main());
} catch (error) {
  // Only what is wrong before the pipeline begins has an exit code of its own.
  process.stderr.write(`Fatal: ${error.message}\n`);
  process.exit(1);
}
