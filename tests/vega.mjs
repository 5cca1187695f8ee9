// Compiles specifications of Vega-Lite and draws them; warnings are failures.
import { readFileSync } from 'node:fs'
import * as vega from 'vega'
import { compile } from 'vega-lite'

let failures = 0
for (const file of process.argv.slice(2).filter((name) => !name.endsWith('package.json') && !name.endsWith('package-lock.json'))) {
  const said = []
  const say = (...words) => (said.push(words.join(' ')), logger)
  const logger = { warn: say, error: say, info: () => logger, debug: () => logger, level: () => logger }
  const { spec } = compile(JSON.parse(readFileSync(file, 'utf8')), { logger })
  const view = new vega.View(vega.parse(spec), { renderer: 'none', logger })
  const svg = await view.toSVG()
  const marks = (svg.match(/<path/g) ?? []).length
  if (marks < 5) said.push(`only ${marks} paths`)
  console.log(`${file}: ${svg.length} bytes of SVG`, ...said)
  failures += said.length
}
process.exit(failures ? 1 : 0)
