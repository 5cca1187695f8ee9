// A worker with one instance of the engine: text in, text out.
//
// A request that ends in a trap (memory that is used up, recursion that the stack cannot hold) leaves an instance that
// nothing is known about: the next request gets a new one.

let module = null;
let exports = null;
let panicked = "";
/** Makes the present request known in what is told on the way. */
let current = 0;

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const bytes = (at, length) => new Uint8Array(exports.memory.buffer, at, length);

const page = {
  now: () => performance.now() / 1000,
  tell: (at, length) => postMessage({ id: current, told: decoder.decode(bytes(at, length)) }),
  panicked: (at, length) => {
    panicked = decoder.decode(bytes(at, length));
  },
};

function fresh() {
  exports = new WebAssembly.Instance(module, { page }).exports;
  exports.start();
}

function answer(request) {
  const text = encoder.encode(JSON.stringify(request));
  // What `room` gives lies in the memory as it is afterwards.
  const at = exports.room(text.length);
  bytes(at, text.length).set(text);
  const length = exports.answer();
  return JSON.parse(decoder.decode(bytes(exports.text(), length)));
}

/** What to tell the user about a trap. */
function reason(error) {
  if (panicked) return `a bug of Diffeo: ${panicked}`;
  if (error instanceof RangeError || /stack/i.test(error.message)) {
    return "the program nests or recurses too deeply for a browser; the command line has no such bound";
  }
  if (/unreachable|memory/i.test(error.message)) return "the browser has no more memory for the program";
  return `the engine stopped: ${error.message}`;
}

onmessage = ({ data }) => {
  if (data.module) {
    module = data.module;
    fresh();
    postMessage({ ready: true });
    return;
  }
  current = data.id;
  try {
    if (!exports) fresh();
    postMessage({ id: data.id, answer: answer(data.request) });
  } catch (error) {
    const stopped = reason(error);
    exports = null;
    panicked = "";
    postMessage({ id: data.id, stopped });
  }
};
