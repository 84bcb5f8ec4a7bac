// JSON without loss: integers that a `number` cannot hold are `bigint`, in both directions.

import { randomUUID } from "node:crypto";

import type { Json } from "./types.js";

const LONG_NUMBER = /\d{16}/;
const LONE_SURROGATE = /\\u[dD][89a-fA-F]/;
const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Reads JSON. */
export function parse(text: string): Json {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text) as Json;
  const mark = unheardOf(text);
  let found = false;
  const marked = text.replace(STRING_OR_NUMBER, (token) => {
    if (token.startsWith('"') || !/^-?\d{16,}$/.test(token) || Number.isSafeInteger(Number(token))) {
      return token;
    }
    found = true;
    return `"${mark}${token}"`;
  });
  if (!found) return JSON.parse(text) as Json;
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  ) as Json;
}

/** Writes JSON; half surrogate pairs become U+FFFD, since they are no characters. */
export function stringify(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // A `bigint`, or what no JSON can hold: then it throws again.
    return stringifyWithCare(value);
  }
  return LONE_SURROGATE.test(text) ? stringifyWithCare(value) : text;
}

function stringifyWithCare(value: unknown): string {
  const mark = unheardOf("");
  const text = JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === "bigint") return mark + member.toString();
    return typeof member === "string" ? wellFormed(member) : member;
  });
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD");
}

/** A word that is not in the text. */
function unheardOf(text: string): string {
  let word: string;
  do {
    word = `bigint-${randomUUID()}:`;
  } while (text.includes(word));
  return word;
}
