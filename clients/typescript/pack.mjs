// Makes the npm packages: the main one, and one for each platform with nothing but the program in it.
//
//     node pack.mjs OUT PLATFORM=PROGRAM...      for example: linux-x64=../../target/release/toolcrib
//
// Run `npm run build` first. npm installs the one platform package that fits `os` and `cpu`; there is no
// install script, and the client starts the program itself, not the script in `bin`.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const PLATFORMS = ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64", "win32-x64"];

const home = dirname(fileURLToPath(import.meta.url));
const main = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const out = resolve(process.argv[2] ?? "dist-npm");
const programs = process.argv.slice(3).map((it) => it.split("="));

mkdirSync(out, { recursive: true });
const scratch = mkdtempSync(join(tmpdir(), "toolcrib-npm-"));
try {
  for (const [platform, program] of programs) {
    if (!PLATFORMS.includes(platform)) throw new Error(`no such platform: ${platform}`);
    const [os, cpu] = platform.split("-");
    const folder = join(scratch, platform);
    const target = join(folder, "bin", os === "win32" ? "toolcrib.exe" : "toolcrib");
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(program, target);
    chmodSync(target, 0o755);
    write(folder, {
      name: `@toolcrib/cli-${platform}`,
      version: main.version,
      description: `The program of toolcrib for ${platform}`,
      license: main.license,
      os: [os],
      cpu: [cpu],
      // The program is linked with the C library of most distributions.
      ...(os === "linux" ? { libc: ["glibc"] } : {}),
      files: ["bin"],
    });
    pack(folder);
  }
  const folder = join(scratch, "main");
  mkdirSync(folder);
  for (const name of ["dist", "bin", "README.md"]) cpSync(join(home, name), join(folder, name), { recursive: true });
  const { devDependencies: _, scripts: __, ...published } = main;
  const optionalDependencies = Object.fromEntries(PLATFORMS.map((it) => [`@toolcrib/cli-${it}`, main.version]));
  write(folder, { ...published, optionalDependencies });
  pack(folder);
} finally {
  rmSync(scratch, { recursive: true });
}

function write(folder, manifest) {
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
}

function pack(folder) {
  execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
}
