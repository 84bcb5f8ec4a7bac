// Finds the program to start.

import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";

import { BinaryNotFoundError } from "./errors.js";

const NAME = process.platform === "win32" ? "toolcrib.exe" : "toolcrib";

/** The argument, else `TOOLCRIB_BINARY`, else the packaged program, else the `PATH`. */
export function findBinary(given?: string): string {
  if (given !== undefined) return existing(given, "the option `binary`");
  const variable = process.env["TOOLCRIB_BINARY"];
  if (variable) return existing(variable, "the variable `TOOLCRIB_BINARY`");
  const found = packaged() ?? onPath(NAME);
  if (found !== undefined) return found;
  throw new BinaryNotFoundError(
    `no \`${NAME}\` found: install one of ${packages().join(", ")} (npm leaves it out with --omit=optional), ` +
      "set TOOLCRIB_BINARY, put it on the PATH, or pass the option `binary`",
  );
}

/** The program in the package for this platform; never the script that starts it for people. */
export function packaged(): string | undefined {
  const require = createRequire(import.meta.url);
  for (const name of packages()) {
    try {
      const program = join(dirname(require.resolve(`${name}/package.json`)), "bin", NAME);
      if (isProgram(program)) return program;
    } catch {
      // Not installed: npm takes only those that fit the platform.
    }
  }
  return undefined;
}

function packages(): string[] {
  const name = `@toolcrib/cli-${process.platform}-${process.arch}`;
  return process.platform === "linux" ? [name, `${name}-musl`] : [name];
}

function existing(path: string, source: string): string {
  // A bare name is looked up as a shell would.
  const found = /[/\\]/.test(path) ? (isProgram(path) ? path : undefined) : onPath(path);
  if (found === undefined) throw new BinaryNotFoundError(`${source} names \`${path}\`, which is not a program`);
  return found;
}

function onPath(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
