// Bundles the extension into one file, with the licenses of the packages in it; `--watch` goes on with every change.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { context } from "esbuild";

const watch = process.argv.includes("--watch");
const build = await context({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
  minify: true,
  sourcemap: watch,
  metafile: true,
  logLevel: "info",
});

/** The packages of a bundle with their licenses. */
function licenses(inputs) {
  const folders = inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = readdirSync(folder).find((f) => /^licen[cs]e(\.(md|txt))?$/i.test(f));
    if (!file) throw new Error(`${name} has no file with its license`);
    return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
  });
}

if (watch) await build.watch();
else {
  const { metafile } = await build.rebuild();
  writeFileSync("dist/THIRD-PARTY.txt", licenses(Object.keys(metafile.inputs)).join(`\n${"-".repeat(80)}\n\n`));
  await build.dispose();
}
