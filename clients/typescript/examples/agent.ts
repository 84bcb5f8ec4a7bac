// A whole agent: a model with the tools of many MCP servers, and one tool of its own.
//
//     node agent.ts --api openai --config toolcrib.yaml "What is on my calendar?"
//
// Node runs TypeScript from 22.18 on, as Bun and Deno do; for Node 20 compile it first: npx tsc agent.ts.
// The key is read from OPENAI_API_KEY or ANTHROPIC_API_KEY; OPENAI_BASE_URL and ANTHROPIC_BASE_URL
// lead to other endpoints that speak the same. Nothing but toolcrib has to be installed.

import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";

import { Toolcrib, parseJson, stringifyJson, type Format, type HostTool, type JsonObject, type ToolRef } from "toolcrib";

const CLOCK: HostTool = {
  name: "current_time",
  description: "Tells the date and time.",
  parameters: { type: "object" },
};

interface ToolCall {
  id: string;
  name: string;
  arguments: unknown;
}

interface ToolAnswer {
  call: ToolCall;
  content: string;
  isError: boolean;
}

interface Model {
  format: Format;
  /** What the model says, and which tools it calls. */
  ask(tools: JsonObject[]): Promise<{ text: string; calls: ToolCall[] }>;
  tell(answers: ToolAnswer[]): void;
}

/** Chat completions, which many endpoints speak. */
function openai(model = "gpt-4.1-mini", question: string): Model {
  interface Message {
    role: string;
    content?: string | null;
    tool_call_id?: string;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  }
  const url = (process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1") + "/chat/completions";
  const headers = { authorization: `Bearer ${process.env["OPENAI_API_KEY"] ?? ""}` };
  const messages: Message[] = [{ role: "user", content: question }];
  return {
    format: "openai",
    async ask(tools) {
      const answer = (await post(url, headers, { model, messages, tools })) as { choices: [{ message: Message }] };
      const { message } = answer.choices[0];
      messages.push(message);
      const calls = (message.tool_calls ?? []).map(({ id, function: it }) => ({ id, ...it }));
      return { text: message.content ?? "", calls };
    },
    tell(answers) {
      for (const { call, content } of answers) messages.push({ role: "tool", tool_call_id: call.id, content });
    },
  };
}

/** Messages. */
function anthropic(model = "claude-sonnet-4-5", question: string): Model {
  interface Block {
    type: string;
    text?: string;
    id?: string;
    name?: string;
    input?: unknown;
  }
  const url = (process.env["ANTHROPIC_BASE_URL"] ?? "https://api.anthropic.com") + "/v1/messages";
  const headers = { "x-api-key": process.env["ANTHROPIC_API_KEY"] ?? "", "anthropic-version": "2023-06-01" };
  const messages: { role: string; content: unknown }[] = [{ role: "user", content: question }];
  return {
    format: "anthropic",
    async ask(tools) {
      const { content } = (await post(url, headers, { model, max_tokens: 4096, messages, tools })) as { content: Block[] };
      messages.push({ role: "assistant", content });
      const text = content.map((it) => it.text ?? "").join("");
      const calls = content
        .filter((it) => it.type === "tool_use")
        .map((it) => ({ id: it.id ?? "", name: it.name ?? "", arguments: it.input }));
      return { text, calls };
    },
    tell(answers) {
      const content = answers.map(({ call, content, isError }) => ({
        type: "tool_result",
        tool_use_id: call.id,
        content,
        is_error: isError,
      }));
      messages.push({ role: "user", content });
    },
  };
}

async function post(url: string, headers: Record<string, string>, body: object): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    // Arguments may hold long integers, which JSON.parse would round.
    body: stringifyJson(body),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return parseJson(await response.text());
}

async function run(toolcrib: Toolcrib, model: Model, contextLength: number, askFirst: boolean): Promise<string> {
  let tools: JsonObject[] = [];
  let knownDigest: string | undefined;
  for (let turn = 0; turn < 30; turn++) {
    const assembly = await toolcrib.assembleTools({
      contextLength,
      format: model.format,
      hostTools: [CLOCK],
      knownDigest,
    });
    tools = assembly.tools ?? tools;
    knownDigest = assembly.digest;
    const { text, calls } = await model.ask(tools);
    if (calls.length === 0) return text;
    const answers: ToolAnswer[] = [];
    for (const call of calls) answers.push({ call, ...(await answer(toolcrib, call, askFirst)) });
    model.tell(answers);
  }
  return "(gave up after 30 turns)";
}

/** What the model is told of a call. */
async function answer(toolcrib: Toolcrib, call: ToolCall, askFirst: boolean): Promise<{ content: string; isError: boolean }> {
  // The real tool, also where the model went through `tool_call`: questions are about that.
  const resolved = await toolcrib.resolve({ name: call.name, arguments: call.arguments });
  if (resolved.tool && !(await mayRun(resolved.tool, resolved.arguments, askFirst))) {
    return failure("the user does not allow this call");
  }
  const result = await toolcrib.dispatch({ name: call.name, arguments: call.arguments, callId: call.id });
  switch (result.kind) {
    case "result":
      return result;
    case "host":
      if (result.tool.name === CLOCK.name) {
        return { content: JSON.stringify({ result: new Date().toString() }), isError: false };
      }
      return failure("this agent has no such tool");
    default:
      return failure("this agent cannot do that");
  }
}

function failure(error: string): { content: string; isError: boolean } {
  return { content: JSON.stringify({ error }), isError: true };
}

async function mayRun(tool: ToolRef, args: JsonObject, askFirst: boolean): Promise<boolean> {
  console.log(`-> ${tool.name} ${stringifyJson(args)}`);
  // What this agent does itself needs no question; what servers say of their tools spares none.
  return tool.source === "host" || !askFirst || (await yes("run it?"));
}

async function yes(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(`${question} [y/N] `)).trim().toLowerCase() === "y";
  } finally {
    terminal.close();
  }
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    api: { type: "string", default: "openai" },
    model: { type: "string" },
    config: { type: "string" },
    "context-length": { type: "string", default: "128000" },
    yes: { type: "boolean", default: false },
  },
});
const question = positionals[0];
if (question === undefined) throw new Error("arguments: [--api openai|anthropic] [--config FILE] [--yes] QUESTION");
const model = options.api === "anthropic" ? anthropic(options.model, question) : openai(options.model, question);
const toolcrib = await Toolcrib.spawn(
  { config: options.config },
  {
    // The configuration asks (`approval: ask`).
    async approve({ reason, tool }) {
      return { decision: (await yes(`${reason}: run ${tool.name}?`)) ? "allow" : "deny" };
    },
  },
);
try {
  for (const { severity, message, path } of toolcrib.info.problems) console.log(`${severity}: ${message} (${path})`);
  console.log(await run(toolcrib, model, Number(options["context-length"]), !options.yes));
} finally {
  await toolcrib.close();
}
