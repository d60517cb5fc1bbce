// Bundles src/ into one module and one style sheet beside it; an argument names another folder.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? `${here}../static`;
const dependency = `${here}node_modules/@tanstack/virtual-core`;

await build({
  absWorkingDir: here,
  entryPoints: ["src/inspector.ts", "src/inspector.css"],
  outdir: target,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  charset: "utf8",
});

const { name, version, license } = JSON.parse(await readFile(`${dependency}/package.json`, "utf8"));
const text = await readFile(`${dependency}/LICENSE`, "utf8");
await writeFile(`${target}/NOTICES`, `inspector.js contains ${name} ${version} (${license}):\n\n${text}`);
