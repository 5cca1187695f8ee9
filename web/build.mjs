// Builds the playground and the book into `dist/`: static files, which work from a folder, too.
//
// `--no-cargo` takes the WebAssembly module as it is.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { index, pages } from "./book.mjs";
import { examples } from "./examples.mjs";

const root = new URL("../", import.meta.url);
const dist = new URL("dist/", import.meta.url);
const [profile, triple] = ["web", "wasm32-unknown-unknown"];

if (!process.argv.includes("--no-cargo")) {
  const cargo = ["build", "--quiet", "--profile", profile, "--target", triple, "-p", "diffeo-web"];
  execFileSync("cargo", cargo, { cwd: root, stdio: "inherit" });
}

rmSync(dist, { recursive: true, force: true });
mkdirSync(new URL("book/", dist), { recursive: true });

// The engine is a script with the module in it, since a page out of a folder may not fetch files.
const target = process.env.CARGO_TARGET_DIR ? `${process.env.CARGO_TARGET_DIR}/` : new URL("target/", root).pathname;
const module = readFileSync(`${target}${triple}/${profile}/diffeo_web.wasm`);
const packed = gzipSync(module, { level: 9 }).toString("base64");
writeFileSync(new URL("engine.js", dist), `globalThis.DIFFEO_WASM="${packed}";\n`);

/** A module of the bundle that is made here. */
const virtual = (name, made) => ({
  name,
  setup(build) {
    const filter = new RegExp(`^virtual:${name}$`);
    build.onResolve({ filter }, () => ({ path: name, namespace: name }));
    build.onLoad({ filter: /.*/, namespace: name }, () => ({ contents: JSON.stringify(made()), loader: "json" }));
  },
});

const options = { bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", logLevel: "warning" };
const worker = await build({ ...options, entryPoints: ["src/worker.js"], write: false });
const { metafile } = await build({
  ...options,
  entryPoints: { main: "src/main.js", "book/book": "src/book.js" },
  outdir: "dist",
  define: { DIFFEO_WORKER: JSON.stringify(worker.outputFiles[0].text) },
  plugins: [virtual("examples", examples), virtual("sections", index)],
  metafile: true,
});
for (const name of ["index.html", "style.css"]) cpSync(new URL(`src/${name}`, import.meta.url), new URL(name, dist));
for (const { file, html } of pages()) writeFileSync(new URL(`book/${file}`, dist), html);

/** The packages of the bundle with their licences. */
function licences(inputs) {
  const folders = inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = readdirSync(folder).find((f) => /^licen[cs]e(\.(md|txt))?$/i.test(f));
    if (!file) throw new Error(`${name} has no file with its licence`);
    return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
  });
}
writeFileSync(new URL("THIRD-PARTY.txt", dist), licences(Object.keys(metafile.inputs)).join(`\n${"-".repeat(80)}\n\n`));

const size = (name) => gzipSync(readFileSync(new URL(name, dist)), { level: 9 }).length;
const sent = ["index.html", "style.css", "main.js", "engine.js"].map((name) => [name, size(name)]);

const total = sent.reduce((sum, [, size]) => sum + size, 0);
console.log(`${sent.map(([name, size]) => `${name} ${(size / 1e3).toFixed(0)} kB`).join(", ")}: ${(total / 1e6).toFixed(2)} MB compressed`);
if (total > 3e6) throw new Error("the playground is to stay under 3 MB");
if (size("book/book.js") > 1.5e5) throw new Error("the book's search is to stay under 150 kB");
