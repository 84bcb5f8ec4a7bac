#!/usr/bin/env node
// Starts the packaged program for people at a terminal. The client does not come this way.

import { spawnSync } from "node:child_process";

import { packaged } from "../dist/binary.js";

const program = process.env.TOOLCRIB_BINARY || packaged();
if (!program) {
  console.error("toolcrib: there is no package of the program for this platform; set TOOLCRIB_BINARY");
  process.exit(1);
}
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) throw error;
if (signal) process.kill(process.pid, signal);
process.exitCode = status ?? 1;
