// Round trips over the TypeScript client.

import { Toolcrib } from "../src/index.js";

const [binary, config, times] = process.argv.slice(2) as [string, string, string];
const count = Number(times);

async function median(work: () => Promise<unknown>): Promise<number> {
  const measured = [];
  for (let n = 0; n < count * 1.2; n++) {
    const started = performance.now();
    await work();
    measured.push(performance.now() - started);
  }
  const kept = measured.slice(count / 5).sort((a, b) => a - b);
  return Math.round((kept[Math.floor(count / 2)] ?? 0) * 1e4) / 10;
}

const client = await Toolcrib.spawn({ binary, config });
const { digest } = await client.assembleTools({ contextLength: 32_000, waitMs: 20_000 });
const unchanged = { contextLength: 32_000, knownDigest: digest };
if (!(await client.assembleTools(unchanged)).unchanged) throw new Error("changed");
const status = await median(() => client.status());
const assembleTools = await median(() => client.assembleTools(unchanged));
console.log(JSON.stringify({ status, assembleTools }));
await client.close();
