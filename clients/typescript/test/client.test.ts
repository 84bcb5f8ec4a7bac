// The client, against a sidecar that breaks the contract on demand.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import {
  BinaryNotFoundError,
  CallTimeoutError,
  ProtocolError,
  RpcError,
  SidecarClosedError,
  Toolcrib,
  VersionMismatchError,
  findBinary,
  parseJson,
  type Handlers,
  type Notification,
  type SpawnOptions,
} from "../src/index.js";

const MOCK = process.env["TOOLCRIB_MOCK"] ?? join(import.meta.dirname, "../../../testing/mock_sidecar.py");

process.on("warning", () => {});
process.env["NODE_NO_WARNINGS"] = "1";

async function mock(t: TestContext, options: SpawnOptions = {}, handlers: Handlers = {}): Promise<Toolcrib> {
  const client = await Toolcrib.spawn({ binary: MOCK, ...options }, handlers);
  t.after(() => client.close());
  return client;
}

async function call(client: Toolcrib, name: string, args?: unknown): Promise<unknown> {
  const result = await client.dispatch({ name, arguments: args });
  assert.equal(result.kind, "result");
  return (parseJson(result.content) as { result: unknown }).result;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    // One that nobody has waited for yet is still listed.
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z");
  } catch {
    return process.platform !== "linux";
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !condition(); ) {
    assert.ok(Date.now() < end);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const question = { tool: { name: "x", source: "mcp" }, arguments: {}, reason: "because" };

test("calls give typed answers", async (t) => {
  const client = await mock(t);
  assert.equal(client.info.serverInfo.name, "toolcrib");
  assert.equal((await client.status()).catalog.tools, 1);
  const assembly = await client.assembleTools({ contextLength: 1000 });
  assert.equal(assembly.tools?.length, 1);
  const again = await client.assembleTools({ knownDigest: assembly.digest });
  assert.ok(again.unchanged && again.tools === undefined);
});

test("long integers and odd text survive, also in large messages", async (t) => {
  const client = await mock(t);
  const value = { n: 9007199254740993n, text: "<é🙂\u2028>" + "é".repeat(1_000_000) };
  assert.deepEqual(await call(client, "echo", value), value);
});

test("many calls at once are not mixed up", async (t) => {
  const client = await mock(t);
  const numbers = Array.from({ length: 200 }, (_, n) => ({ n }));
  assert.deepEqual(await Promise.all(numbers.map((it) => call(client, "echo", it))), numbers);
});

test("progress comes in order, before the answer", async (t) => {
  const seen: Notification[] = [];
  const client = await mock(t, { onNotification: (it) => seen.push(it) });
  const notifications = client.notifications();
  await call(client, "steps");
  assert.deepEqual(seen.map((it) => it.method === "progress" && it.params.progress), [1, 2, 3]);
  await client.close();
  const later = [];
  for await (const it of notifications) later.push(it);
  assert.deepEqual(later, seen);
});

test("leaving the loop over notifications stops listening", async (t) => {
  const client = await mock(t);
  const notifications = client.notifications();
  await call(client, "steps");
  for await (const it of notifications) if (it.method === "progress") break;
  await call(client, "steps");
  assert.deepEqual(await notifications.next(), { done: true, value: undefined });
});

test("handlers answer", async (t) => {
  const handlers: Handlers = {
    async approve({ reason }) {
      if (reason === "fail") throw new Error("broken");
      if (reason === "refuse") throw new RpcError(-1, "own words");
      return { decision: "allow" };
    },
  };
  const client = await mock(t, {}, handlers);
  const ask = (method: string, changes = {}) => call(client, "ask", { method, params: { ...question, ...changes } });
  assert.deepEqual(await ask("approve"), { result: { decision: "allow" } });
  assert.deepEqual(await ask("approve", { reason: "fail" }), { error: { code: -32603, message: "broken" } });
  assert.deepEqual(await ask("approve", { reason: "refuse" }), { error: { code: -1, message: "own words" } });
  assert.deepEqual(await ask("elicit"), { error: { code: -32601, message: "no handler for `elicit`" } });
  assert.deepEqual(await ask("newer"), { error: { code: -32601, message: "no handler for `newer`" } });
  const received = (client.info as unknown as { received: { capabilities: unknown } }).received;
  assert.deepEqual(received.capabilities, { approval: true, progress: true });
});

test("a question that is taken back aborts its handler", async (t) => {
  let aborted = false;
  const client = await mock(t, {}, {
    approve: (_, signal) =>
      new Promise(() => {
        signal.addEventListener("abort", () => (aborted = true));
      }),
  });
  const answer = await call(client, "withdraw", { method: "approve", params: question });
  assert.deepEqual(answer, { error: { code: -32800, message: "cancelled" } });
  assert.ok(aborted);
});

test("a signal and a timeout cancel the call", async (t) => {
  const client = await mock(t);
  const notifications = client.notifications();
  const controller = new AbortController();
  const slow = client.dispatch({ name: "slow" }, { signal: controller.signal });
  await notifications.next();
  controller.abort();
  await assert.rejects(slow, { name: "AbortError" });
  await assert.rejects(client.dispatch({ name: "slow" }, { timeout: 50 }), CallTimeoutError);
  await assert.rejects(client.status({}, { signal: controller.signal }), { name: "AbortError" });
  assert.deepEqual(await call(client, "cancels"), [2, 3]);
});

test("errors are typed", async (t) => {
  const client = await mock(t);
  await assert.rejects(client.reload(), (error: unknown) => {
    assert.ok(error instanceof RpcError);
    assert.equal(error.kind, "configInvalid");
    assert.equal(error.failure?.problems?.[0]?.range?.end.character, 5);
    return true;
  });
  await assert.rejects(client.dispatch({ name: "deaf" }), ProtocolError);
});

test("what a newer sidecar sends is kept", async (t) => {
  const client = await mock(t);
  const notifications = client.notifications();
  const result = await client.dispatch({ name: "later" });
  switch (result.kind) {
    case "result":
    case "host":
      assert.fail();
      break;
    default:
      assert.deepEqual(result, { kind: "later", url: "x", n: 9007199254740993n });
  }
  assert.equal(await call(client, "garbage"), "done");
  const { value } = await notifications.next();
  assert.deepEqual(value, { method: "newerThanYou", params: { a: 1 } });
});

test("a death fails every open call at once", async (t) => {
  const client = await mock(t);
  const notifications = client.notifications();
  const slow = [1, 2, 3].map(() => client.dispatch({ name: "slow" }));
  for (const _ of slow) await notifications.next();
  const started = performance.now();
  for (const end of [client.dispatch({ name: "die" }), ...slow]) {
    await assert.rejects(end, (error: unknown) => error instanceof SidecarClosedError && error.exitCode === 7);
  }
  assert.ok(performance.now() - started < 1000);
  await assert.rejects(client.status(), SidecarClosedError);
  assert.equal((await notifications.next()).done, true);
});

test("a closed client says so, and leaves no process", async (t) => {
  const client = await mock(t);
  await client.close();
  assert.ok(!alive(client.pid));
  await assert.rejects(client.status(), /closed/);
});

test("a stubborn sidecar is killed", async (t) => {
  const client = await mock(t, { env: { ...process.env, MOCK_STUBBORN: "1" } });
  await client.close(50);
  assert.ok(!alive(client.pid));
});

test("another protocol version is named, and no process is left", async () => {
  const folder = mkdtempSync(join(tmpdir(), "toolcrib-"));
  try {
    const env = { ...process.env, MOCK_PROTOCOL: "2", MOCK_PIDFILE: join(folder, "pid") };
    await assert.rejects(Toolcrib.spawn({ binary: MOCK, env }), (error: unknown) => {
      assert.ok(error instanceof VersionMismatchError);
      assert.match(error.message, /version 1, .* speaks 2/);
      return true;
    });
    assert.ok(!alive(Number(readFileSync(join(folder, "pid"), "utf8"))));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const end of ["", "process.exit(3);", "process.kill(process.pid, 9);"]) {
  test(`the end of the host is the end of the sidecar: ${end || "by itself"}`, async () => {
    const client = new URL("../src/index.js", import.meta.url).href;
    const program = `import { Toolcrib } from ${JSON.stringify(client)};
      const client = await Toolcrib.spawn({ binary: ${JSON.stringify(MOCK)} });
      console.log(client.pid);
      ${end || "await client.close();"}`;
    const host = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
    const pid = Number(host.stdout);
    assert.ok(pid > 0, host.stderr);
    await until(() => !alive(pid));
  });
}

test("a program that is no sidecar is an error", async () => {
  await assert.rejects(Toolcrib.spawn({ binary: "true" }), /status 0/);
  await assert.rejects(Toolcrib.spawn({ binary: "true", cwd: "/nowhere" }), /could not be started/);
});

test("the binary is looked for in order", () => {
  const { PATH, TOOLCRIB_BINARY } = process.env;
  try {
    process.env["TOOLCRIB_BINARY"] = MOCK;
    assert.equal(findBinary(), MOCK);
    assert.equal(findBinary("/bin/sh"), "/bin/sh");
    process.env["TOOLCRIB_BINARY"] = "/nowhere/toolcrib";
    assert.throws(() => findBinary(), /TOOLCRIB_BINARY/);
    delete process.env["TOOLCRIB_BINARY"];
    process.env["PATH"] = "/nowhere";
    assert.throws(() => findBinary(), (error: unknown) => error instanceof BinaryNotFoundError && /option `binary`/.test(error.message));
  } finally {
    process.env["PATH"] = PATH;
    if (TOOLCRIB_BINARY !== undefined) process.env["TOOLCRIB_BINARY"] = TOOLCRIB_BINARY;
  }
});
