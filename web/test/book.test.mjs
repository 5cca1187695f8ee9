// The pages of the book: their links lead somewhere, and their programs are what the playground reads.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { inflateRawSync } from "node:zlib";
import { programs } from "../book.mjs";

const folder = new URL("../dist/book/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".html"));
const text = Object.fromEntries(files.map((name) => [name, readFileSync(new URL(name, folder), "utf8")]));

test("links lead to pages and headings that are there", () => {
  assert.ok(files.length > 15);
  for (const [name, html] of Object.entries(text)) {
    for (const [, href] of html.matchAll(/href="([^"]*)"/g)) {
      if (/^[a-z]+:/.test(href) || href.includes("#code=")) continue;
      const [path, anchor] = href.split("#");
      assert.ok(existsSync(new URL(path || name, folder)), `${name}: ${href}`);
      if (anchor) assert.ok(text[path || name].includes(`id="${decodeURIComponent(anchor)}"`), `${name}: ${href}`);
    }
  }
});

test("every program of a page can be opened", () => {
  for (const name of files) {
    const source = name === "index.html" ? "README.md" : name.replace(/html$/, "md");
    const opened = [...text[name].matchAll(/#code=([\w-]+)/g)].map(([, code]) =>
      inflateRawSync(Buffer.from(code, "base64url")).toString("utf8"),
    );
    for (const { text } of programs(source)) assert.ok(opened.includes(text), `${name}: ${text}`);
  }
});
