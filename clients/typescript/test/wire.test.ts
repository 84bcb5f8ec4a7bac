// The fixtures that all languages read and write alike.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { readError } from "../src/client.js";
import { RpcError } from "../src/errors.js";
import { parse, stringify } from "../src/json.js";
import type { Json } from "../src/types.js";

interface File {
  cases?: { type: string; name: string; value: Json }[];
  errors?: { name: string; error: Json; kind: string | null; retryable: boolean; problems: number | null }[];
}

const folder = process.env["TOOLCRIB_WIRE"] ?? join(import.meta.dirname, "../../../../tests/wire");
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => parse(readFileSync(join(folder, name), "utf8")) as unknown as File);
const cases = files.flatMap((file) => file.cases ?? []);
const errors = files.flatMap((file) => file.errors ?? []);

test("there are fixtures", () => {
  assert.ok(cases.length > 50 && errors.length > 5);
});

for (const { type, name, value } of cases) {
  test(`${type}: ${name}`, () => {
    const text = stringify(value);
    assert.deepEqual(parse(text), value);
  });
}

for (const { name, error, kind, retryable, problems } of errors) {
  test(`error: ${name}`, () => {
    const read = readError(error);
    assert.ok(read instanceof RpcError);
    assert.deepEqual(
      [read.kind ?? null, read.retryable, read.failure?.problems?.length ?? null],
      [kind, retryable, problems],
    );
  });
}

test("integers that a number cannot hold are bigints, others are not", () => {
  const text = '{"a":18446744073709551615,"b":"18446744073709551615 \\" 9007199254740993","c":[-9007199254740993,9007199254740991]}';
  const value = parse(text);
  assert.deepEqual(value, {
    a: 18446744073709551615n,
    b: '18446744073709551615 " 9007199254740993',
    c: [-9007199254740993n, 9007199254740991],
  });
  assert.equal(stringify(value), text);
  assert.deepEqual(parse("[0.1234567890123456789, 1e300]"), [0.1234567890123456789, 1e300]);
});

test("halves of surrogate pairs are mended", () => {
  assert.equal(stringify({ a: "\ud83d\ude42 \ud83d x \ude42" }), '{"a":"🙂 \ufffd x \ufffd"}');
  assert.equal(stringify("\\ud83d"), '"\\\\ud83d"');
});

test("what JSON cannot hold is refused", () => {
  const round: { self?: unknown } = {};
  round.self = round;
  assert.throws(() => stringify(round), TypeError);
});
