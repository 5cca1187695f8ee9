// The engine as the page sees it: requests to a worker, which is ended and started again where it takes too long.

/* global DIFFEO_WORKER, DIFFEO_WASM */

/** The WebAssembly module, out of the text that `engine.js` of the built page holds. */
async function compiled() {
  const packed = Uint8Array.from(atob(globalThis.DIFFEO_WASM), (c) => c.charCodeAt(0));
  globalThis.DIFFEO_WASM = "";
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

let module = null;

/** A worker that answers one request at a time. */
export class Engine {
  #worker = null;
  #waiting = new Map();
  #next = 0;
  #url = URL.createObjectURL(new Blob([DIFFEO_WORKER], { type: "text/javascript" }));
  #ready;

  constructor() {
    this.#ready = this.#start();
  }

  async #start() {
    module ??= compiled();
    const worker = new Worker(this.#url);
    this.#worker = worker;
    const started = new Promise((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message || "the worker does not start"));
      worker.onmessage = ({ data }) => {
        if (data.ready) return resolve();
        const waiting = this.#waiting.get(data.id);
        if (data.told !== undefined) return waiting?.tell?.(data.told);
        this.#waiting.delete(data.id);
        waiting?.resolve(data.answer ?? { stopped: data.stopped });
      };
    });
    worker.postMessage({ module: await module });
    return started;
  }

  /** When the engine can answer. */
  get ready() {
    return this.#ready;
  }

  /**
   * The answer to a request; `{stopped: why}` where the engine was ended. `seconds` bounds the time, and `tell` takes
   * the lines that come before the answer.
   */
  async ask(request, { seconds = 20, tell } = {}) {
    await this.#ready;
    const id = ++this.#next;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.stop(`no answer within ${seconds} s`), seconds * 1000);
      const done = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      this.#waiting.set(id, { resolve: done, tell });
      this.#worker.postMessage({ id, request });
    });
  }

  /** Ends what is being done. A new worker is there for the next request. */
  stop(why) {
    if (!this.#waiting.size) return;
    this.#worker.terminate();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#ready = this.#start();
    for (const { resolve } of waiting) resolve({ stopped: why });
  }
}
