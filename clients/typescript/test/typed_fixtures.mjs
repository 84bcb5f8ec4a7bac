// Writes the wire fixtures as TypeScript, so that the compiler says whether the types fit them.
//
//     node typed_fixtures.mjs ../../tests/wire > test/fixtures.typed.ts

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const lines = ["// Written by typed_fixtures.mjs.", "", 'import type * as t from "../src/types.js";', ""];
for (const file of readdirSync(folder).filter((it) => it.endsWith(".json")).sort()) {
  // Long integers are rounded here, which the compiler does not see.
  for (const { type, name, value, encoded, rust } of JSON.parse(readFileSync(join(folder, file), "utf8")).cases ?? []) {
    // What types do not know, and `null` for absent, is for the runtime to bear.
    if (encoded !== undefined || rust === "refused") continue;
    lines.push(`// ${file}: ${name}`, `void (${JSON.stringify(value)} satisfies t.${type});`);
  }
}
console.log(lines.join("\n"));
