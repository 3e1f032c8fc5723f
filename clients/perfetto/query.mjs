// Asks Perfetto's trace processor, as it runs in the browser, for SQL over a trace.
//
// node query.mjs ENGINE_FOLDER TRACE SQL...   prints one JSON object a line: {"columns": [...], "rows": [...]}
//
// ENGINE_FOLDER holds engine_bundle.js and trace_processor*.wasm.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [engine, trace, ...queries] = process.argv.slice(2);

// The engine runs in a context that looks like a worker of a browser: it knows no Node.
const worker = { URL, TextDecoder, setTimeout, performance, crypto };
worker.self = worker;
worker.location = { href: "https://localhost/" };
worker.WorkerGlobalScope = function () {};
worker.XMLHttpRequest = class {
  open(_, name) {
    this.name = path.basename(name);
  }
  send() {
    this.response = fs.readFileSync(path.join(engine, this.name));
  }
};
const tell = (...text) => process.stderr.write(text.join(" ").slice(0, 500) + "\n");
worker.console = { log: tell, warn: tell, error: tell, info: tell };

// A writer and a reader of protobuf, as far as the remote procedure calls need it.
function varint(value) {
  const bytes = [];
  for (value = BigInt(value); value >= 128n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  return [...bytes, Number(value)];
}
const key = (field, type) => varint((field << 3) | type);
const uint = (field, value) => Buffer.from([...key(field, 0), ...varint(value)]);
const bytes = (field, body) => Buffer.concat([Buffer.from([...key(field, 2), ...varint(body.length)]), body]);
function* varints(body) {
  for (let at = 0; at < body.length; ) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      value |= BigInt(body[at] & 127) << shift;
      if (body[at++] < 128) break;
    }
    yield [BigInt.asIntN(64, value), at];
  }
}
function* fields(body) {
  for (let at = 0; at < body.length; ) {
    const number = () => {
      const [value, used] = varints(body.subarray(at)).next().value;
      at += used;
      return value;
    };
    const tag = Number(number());
    const [field, type] = [tag >> 3, tag & 7];
    if (type === 0) yield [field, number()];
    else if (type === 2) {
      const length = Number(number());
      yield [field, body.subarray(at, at + length)];
      at += length;
    } else at += type === 1 ? 8 : 4;
  }
}

let got = () => {};
const port = { postMessage: (data) => got(Buffer.from(data)) };
let seq = 0;
// Sends a request and hands all its answers to `answer`, until that returns true.
function call(type, args, answer) {
  return new Promise((done, fail) => {
    let rest = Buffer.alloc(0);
    got = (data) => {
      rest = Buffer.concat([rest, data]);
      for (const [, message] of fields(rest)) {
        const found = new Map(fields(message));
        if (found.has(5)) return fail(new Error(found.get(5).toString()));
        if (answer(found)) done();
      }
      rest = Buffer.alloc(0);
    };
    const request = Buffer.concat([uint(1, seq++), uint(2, type), args]);
    port.onmessage({ data: ofWorker(bytes(1, request)) });
  });
}

function rowsOf(columns, batches) {
  const cells = [];
  for (const batch of batches) {
    const found = new Map(fields(batch));
    const numbers = [...varints(found.get(2) ?? Buffer.alloc(0))].map(([value]) => Number(value));
    const texts = (found.get(5) ?? Buffer.alloc(0)).toString().split("\0");
    const floats = found.get(3) ?? Buffer.alloc(0);
    let [number, text, float] = [0, 0, 0];
    for (const type of found.get(1) ?? []) {
      if (type === 1) cells.push(null);
      else if (type === 2) cells.push(numbers[number++]);
      else if (type === 3) cells.push(floats.readDoubleLE(8 * float++));
      else cells.push(texts[text++]);
    }
  }
  const rows = [];
  for (let at = 0; at < cells.length; at += columns.length) rows.push(cells.slice(at, at + columns.length));
  return rows;
}

async function query(sql) {
  const [columns, batches] = [[], []];
  await call(3, bytes(103, bytes(1, Buffer.from(sql))), (found) => {
    let last = false;
    for (const [field, value] of fields(found.get(203))) {
      if (field === 1) columns.push(value.toString());
      if (field === 2 && value.length > 0) throw new Error(value.toString());
      if (field === 3) {
        batches.push(value);
        last ||= new Map(fields(value)).get(6) === 1n;
      }
    }
    return last;
  });
  return { columns, rows: rowsOf(columns, batches) };
}

vm.createContext(worker);
vm.runInContext(fs.readFileSync(path.join(engine, "engine_bundle.js"), "utf8"), worker);
const ofWorker = vm.runInContext("(bytes) => new Uint8Array(bytes)", worker);
worker.onmessage({ data: port });
await new Promise((ready) => setTimeout(ready, 500));
const size = fs.statSync(trace).size;
const file = fs.openSync(trace);
for (let at = 0; at < size; at += 1 << 24) {
  const chunk = Buffer.alloc(Math.min(1 << 24, size - at));
  fs.readSync(file, chunk, 0, chunk.length, at);
  await call(1, bytes(101, chunk), () => true);
}
await call(2, Buffer.alloc(0), () => true);
for (const sql of queries) console.log(JSON.stringify(await query(sql)));
process.exit(0);
