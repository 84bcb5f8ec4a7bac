// Plays the scripted conversation.

import assert from "node:assert/strict";

import { RpcError, SidecarClosedError, Toolcrib, type ApproveParams, type HostTool, type Notification } from "../src/index.js";

const CLOCK: HostTool = { name: "clock", description: "Tells the time.", parameters: { type: "object" } };

const [binary, before, after] = process.argv.slice(2) as [string, string, string];
const asked: ApproveParams[] = [];
const progress = new Map<string, number[]>();
let heard: () => void = () => {};

function say(step: string, facts: object): void {
  console.log(JSON.stringify({ step, ...facts }));
}

function listen(notification: Notification): void {
  if (notification.method !== "progress") return;
  const { callId, progress: value } = notification.params;
  progress.set(callId, [...(progress.get(callId) ?? []), value]);
  heard();
}

async function progressOf(...callIds: string[]): Promise<void> {
  while (!callIds.every((it) => progress.has(it))) await new Promise<void>((resolve) => (heard = resolve));
}

function names(tools: unknown[] | undefined): string[] {
  return (tools ?? []).map((it) => (it as { function: { name: string } }).function.name);
}

async function turns(client: Toolcrib): Promise<string> {
  const first = await client.assembleTools({ contextLength: 200_000, hostTools: [CLOCK], waitMs: 20_000 });
  const { mode, reason } = first.decision;
  say("assemble", { mode, reason, tools: names(first.tools) });
  const second = await client.assembleTools({ contextLength: 200_000, hostTools: [CLOCK], knownDigest: first.digest });
  say("again", { unchanged: second.unchanged, tools: second.tools ?? null });

  const found = await client.dispatch({ name: "tool_search", arguments: { query: "give back arguments" } });
  assert.ok(found.kind === "result");
  const [match] = (JSON.parse(found.content) as { matches: { name: string; server: string }[] }).matches;
  say("search", { bridge: found.bridge, first: match?.name, server: match?.server });

  const left = await client.dispatch({ name: "tool_call", arguments: { name: "clock", arguments: { zone: "UTC" } } });
  assert.ok(left.kind === "host");
  say("host", { tool: left.tool.name, source: left.tool.source, arguments: left.arguments, bridge: left.bridge });
  return first.digest;
}

async function calls(client: Toolcrib): Promise<void> {
  const resolved = await client.resolve({
    name: "tool_call",
    arguments: { name: "mcp_safe_write", arguments: { title: "yes" } },
  });
  const { name, server, originalName } = resolved.tool ?? {};
  say("resolve", { tool: name, server, originalName, arguments: resolved.arguments });

  for (const [step, title] of [["approved", "yes"], ["denied", "no"]] as const) {
    const result = await client.dispatch({ name: "mcp_safe_write", arguments: { title }, callId: step });
    assert.ok(result.kind === "result");
    const question = asked.at(-1);
    const facts = { callId: question?.callId, tool: question?.tool.name, arguments: question?.arguments };
    say(step, { outcome: result.outcome, isError: result.isError, asked: facts });
  }

  const result = await client.dispatch({ name: "mcp_desk_slow", arguments: { steps: 3 }, callId: "p" });
  assert.ok(result.kind === "result");
  say("progress", { seen: progress.get("p"), content: (JSON.parse(result.content) as { result: string }).result });
}

async function trouble(client: Toolcrib): Promise<void> {
  const controller = new AbortController();
  const slow = client.dispatch(
    { name: "mcp_desk_slow", arguments: { steps: 1000 }, callId: "c" },
    { signal: controller.signal },
  );
  await progressOf("c");
  controller.abort();
  await assert.rejects(slow, { name: "AbortError" });
  say("cancel", { error: "cancelled" });
  let count = 0;
  for (let tries = 0; tries < 1000 && count === 0; tries++) {
    const result = await client.dispatch({ name: "mcp_desk_cancelled" });
    assert.ok(result.kind === "result");
    count = Number((JSON.parse(result.content) as { result: string }).result);
  }
  say("reached", { count });

  const result = await client.dispatch({ name: "mcp_desk_nothing" });
  assert.ok(result.kind === "result");
  say("unknown", { outcome: result.outcome, isError: result.isError });
  try {
    await client.reload({ servers: ["nowhere"] });
  } catch (error) {
    assert.ok(error instanceof RpcError);
    say("error", { code: error.code, kind: error.kind, retryable: error.retryable });
  }
}

async function reload(client: Toolcrib, digest: string): Promise<void> {
  const { added, removed, changed, unchanged } = await client.reload({ config: { path: after } });
  say("reload", { added, removed, changed, unchanged });
  const assembly = await client.assembleTools({
    contextLength: 200_000,
    hostTools: [CLOCK],
    knownDigest: digest,
    waitMs: 20_000,
  });
  say("changed", { unchanged: assembly.unchanged, mode: assembly.decision.mode, tools: names(assembly.tools) });
}

async function kill(client: Toolcrib): Promise<void> {
  const slow = ["k1", "k2"].map((callId) =>
    client.dispatch({ name: "mcp_desk_slow", arguments: { steps: 1000 }, callId }),
  );
  const ends = Promise.allSettled(slow);
  await progressOf("k1", "k2");
  const started = performance.now();
  process.kill(client.pid, "SIGKILL");
  const closed = (error: unknown): string => (error instanceof SidecarClosedError ? "closed" : String(error));
  const errors = (await ends).map((end) => (end.status === "rejected" ? closed(end.reason) : "answered"));
  say("killed", { errors, promptly: performance.now() - started < 1000 });
  await client.status().catch((error: unknown) => say("dead", { error: closed(error) }));
}

{
  const client = await Toolcrib.spawn(
    { binary, config: before, onNotification: listen },
    {
      approve(params) {
        asked.push(params);
        return { decision: params.arguments["title"] === "yes" ? "allow" : "deny" };
      },
    },
  );
  try {
    const { protocolVersion, serverInfo } = client.info;
    say("initialize", { protocolVersion, server: serverInfo.name });
    const digest = await turns(client);
    await calls(client);
    await trouble(client);
    await reload(client, digest);
    await kill(client);
  } finally {
    await client.close();
  }
}
const client = await Toolcrib.spawn({ binary, config: after });
try {
  await client.assembleTools({ waitMs: 20_000 });
  const { servers } = await client.status();
  say("restart", { servers: servers.map((it) => it.name), ready: servers.every((it) => it.state === "ready") });
} finally {
  await client.close();
}
try {
  process.kill(client.pid, 0);
} catch {
  say("closed", {});
}
