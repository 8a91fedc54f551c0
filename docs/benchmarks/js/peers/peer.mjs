// Measures one engine in a process of its own and prints one JSON object:
//
//   node peer.mjs NAME {first|warm|pause} [RUNS]
//
// first: the process ends after the first result, so that the caller can time
// the whole process. warm: medians in milliseconds of
//   start    a fresh interpreter and the value of 1+1
//   call     one awaited host call, from a loop of calls inside one program
//   fib      fib(22) in a fresh interpreter
//   loop     a loop of 1e6 steps
// pause: medians in milliseconds, for a program with a few rows of state and one
// with 5,000 of them (…Rows), of
//   pause    a fresh interpreter until its waiting call is in a synced file
//   resume   that file, the call's answer, until the program's value
//   bytes    size of the file
import { mkdtempSync, openSync, writeSync, fsyncSync, closeSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const FIB = '(function f(n){return n<2?n:f(n-1)+f(n-2)})(22)';
const LOOP = '(function(){let s=0;for(let i=0;i<1e6;i++)s+=i%7;return s})()';
const CALLS = 200;

function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function mustBe(got, want) {
  if (got !== want) throw new Error(`got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

const ROWS = (n) => `const rows=Array.from({length:${n}},(_,i)=>({id:i,name:'row '+i}));`;

// Each peer is {evaluate(expression) -> value, calls(n) -> n}: a fresh
// interpreter for every use, the way its documentation shows. One that can stop
// a program at a call has stop(rows) -> bytes and proceed(bytes, answer, rows) ->
// value as well.
const peers = {
  async 'langchain-quickjs'() {
    const { ReplSession } = await import('@langchain/quickjs');
    let id = 0;
    const use = async (options, code) => {
      const key = `s${id++}`;
      const session = ReplSession.getOrCreate(key, options);
      const result = await session.eval(code, 30_000);
      session.dispose();
      ReplSession.deleteSession(key);
      if (!result.ok) throw new Error(result.error.message);
      return result.value;
    };
    const tools = [{ name: 'ping', invoke: async () => 'pong' }];
    return {
      evaluate: (expression) => use({}, expression),
      calls: (n) => use({ tools, maxPtcCalls: null },
        `let n=0; for(let i=0;i<${n};i++){ if(await tools.ping({i})==='pong') n++ } n`),
    };
  },

  async 'quickjs-emscripten'() {
    const { getQuickJS } = await import('quickjs-emscripten');
    const quickjs = await getQuickJS();
    const use = async (code, bind) => {
      const context = quickjs.newContext();
      try {
        if (bind) bind(context);
        const promise = context.unwrapResult(context.evalCode(code));
        if (context.typeof(promise) !== 'object') {
          const value = context.dump(promise);
          promise.dispose();
          return value;
        }
        const settled = context.resolvePromise(promise);
        context.runtime.executePendingJobs();
        promise.dispose();
        const handle = context.unwrapResult(await settled);
        const value = context.dump(handle);
        handle.dispose();
        return value;
      } finally {
        context.dispose();
      }
    };
    const ping = (context) => {
      const fn = context.newFunction('ping', () => {
        const deferred = context.newPromise();
        queueMicrotask(() => {
          const text = context.newString('pong');
          deferred.resolve(text);
          text.dispose();
          context.runtime.executePendingJobs();
          deferred.dispose();
        });
        return deferred.handle;
      });
      context.setProp(context.global, 'ping', fn);
      fn.dispose();
    };
    return {
      evaluate: (expression) => use(expression),
      calls: (n) => use(`(async()=>{let n=0; for(let i=0;i<${n};i++){ if(await ping({i})==='pong') n++ } return n})()`, ping),
    };
  },

  async 'quickjs-wasi'() {
    const { QuickJS } = await import('quickjs-wasi');
    const url = new URL(import.meta.resolve('quickjs-wasi/quickjs.wasm'));
    const wasm = await WebAssembly.compile(await readFile(url));
    const use = async (code, bind) => {
      const vm = await QuickJS.create({ wasm });
      try {
        if (bind) bind(vm);
        const handle = vm.evalCode(code);
        if (!bind) return vm.dump(handle);
        const settled = vm.resolvePromise(handle);
        vm.executePendingJobs();
        const result = await settled;
        if ('error' in result) throw new Error(result.error.toString());
        return vm.dump(result.value);
      } finally {
        vm.dispose();
      }
    };
    const ping = (vm) => {
      const fn = vm.newFunction('ping', () => {
        const deferred = vm.newPromise();
        queueMicrotask(() => {
          deferred.resolve(vm.newString('pong'));
          vm.executePendingJobs();
        });
        return deferred.handle;
      });
      vm.setProp(vm.global, 'ping', fn);
    };
    return {
      evaluate: (expression) => use(expression),
      calls: (n) => use(`(async()=>{let n=0; for(let i=0;i<${n};i++){ if(await ping({i})==='pong') n++ } return n})()`, ping),
      // The program keeps the promise of the waiting call where the host finds it again.
      async stop(rows) {
        const vm = await QuickJS.create({ wasm });
        try {
          vm.evalCode(`globalThis.done=(async()=>{${ROWS(rows)} const v=await new Promise((ok)=>{globalThis.answer=ok}); return rows.length+v})()`);
          vm.executePendingJobs();
          return QuickJS.serializeSnapshot(vm.snapshot());
        } finally {
          vm.dispose();
        }
      },
      async proceed(bytes, answer) {
        const vm = await QuickJS.restore(QuickJS.deserializeSnapshot(bytes), { wasm });
        try {
          vm.evalCode(`answer(${answer})`);
          const settled = vm.resolvePromise(vm.evalCode('done'));
          vm.executePendingJobs();
          const result = await settled;
          if ('error' in result) throw new Error(result.error.toString());
          return vm.dump(result.value);
        } finally {
          vm.dispose();
        }
      },
    };
  },

  async 'vercel-run'() {
    const { createRunner, getHostFunctionContext } = await import('run');
    const runner = createRunner({ limits: { maxBridgeRequests: 1 << 20 }, continuationSecret: 'a secret of the benchmark, 32 bytes' });
    const use = async (source, hostFunctions) => {
      const result = await runner.run({ source, hostFunctions });
      if (result.status !== 'completed') throw new Error(result.error?.message ?? result.status);
      return result.value;
    };
    const tools = { tools: { ping: async () => 'pong' } };
    const asking = (rows) => `${ROWS(rows)} const v=await tools.ask('go on'); return rows.length+v;`;
    const approval = {
      tools: {
        ask: async () => {
          const { interrupt, resume } = getHostFunctionContext();
          if (resume === undefined) interrupt({ kind: 'approval' });
          return resume.resolution;
        },
      },
    };
    return {
      evaluate: (expression) => use(`return ${expression};`),
      calls: (n) => use(`let n=0; for(let i=0;i<${n};i++){ if(await tools.ping({i})==='pong') n++ } return n;`, tools),
      async stop(rows) {
        const first = await runner.run({ source: asking(rows), hostFunctions: approval });
        if (first.status !== 'interrupted') throw new Error(first.error?.message ?? first.status);
        return Buffer.from(JSON.stringify({ continuation: first.continuation, ids: first.interruptions.map((i) => i.id) }));
      },
      async proceed(bytes, answer, rows) {
        const { continuation, ids } = JSON.parse(bytes.toString());
        const resolutions = ids.map((interruptionId) => ({ interruptionId, value: answer }));
        const result = await runner.run({ source: asking(rows), hostFunctions: approval, continuation, resolutions });
        if (result.status !== 'completed') throw new Error(result.error?.message ?? result.status);
        return result.value;
      },
    };
  },

  // Python, not JavaScript: the same rows, the same waiting call. The package of
  // the binding asks for those of every platform, which not every registry has;
  // this is what it loads here.
  async monty() {
    const { Monty, MontySnapshot } = createRequire(import.meta.url)('@pydantic/monty-linux-x64-gnu');
    const program = (rows) => `rows = [{'id': i, 'name': 'row ' + str(i)} for i in range(${rows})]\nv = ask('go on')\nlen(rows) + v`;
    return {
      async stop(rows) {
        const at = Monty.create(program(rows)).start();
        if (!(at instanceof MontySnapshot)) throw new Error('it did not stop at the call');
        return at.dump();
      },
      async proceed(bytes, answer) {
        return MontySnapshot.load(bytes).resume({ returnValue: answer }).output;
      },
    };
  },
};

async function measure(runs, use) {
  const times = [];
  for (let i = 0; i < runs; i++) {
    const begin = performance.now();
    await use();
    times.push(performance.now() - begin);
  }
  return median(times);
}

// A file that is there after a power cut.
function keep(path, bytes) {
  const fd = openSync(path, 'w', 0o600);
  writeSync(fd, bytes);
  fsyncSync(fd);
  closeSync(fd);
}

async function pauses(peer, runs) {
  const dir = mkdtempSync(join(tmpdir(), 'ringd-bench-'));
  const path = join(dir, 'snapshot');
  const out = {};
  try {
    for (const [suffix, rows] of [['', 5], ['Rows', 5000]]) {
      out['pause' + suffix] = await measure(runs, async () => keep(path, await peer.stop(rows)));
      out['bytes' + suffix] = readFileSync(path).length;
      out['resume' + suffix] = await measure(runs, async () => mustBe(Number(await peer.proceed(readFileSync(path), 7, rows)), rows + 7));
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
  return out;
}

async function main([name, mode, runs = '30']) {
  if (!peers[name] || !['first', 'warm', 'pause'].includes(mode)) {
    console.error(`usage: node peer.mjs {${Object.keys(peers).join('|')}} {first|warm|pause} [RUNS]`);
    process.exit(2);
  }
  const peer = await peers[name]();
  if (mode === 'pause') {
    console.log(JSON.stringify({ peer: name, ...(await pauses(peer, Number(runs))) }));
    process.exit(0);
  }
  mustBe(Number(await peer.evaluate('1+1')), 2);
  if (mode === 'first') {
    process.exit(0);
  }
  const n = Number(runs);
  const out = { peer: name };
  out.start = await measure(n, () => peer.evaluate('1+1'));
  const base = await measure(5, async () => mustBe(Number(await peer.calls(1)), 1));
  const many = await measure(5, async () => mustBe(Number(await peer.calls(CALLS)), CALLS));
  out.call = (many - base) / (CALLS - 1);
  out.fib = await measure(5, async () => mustBe(Number(await peer.evaluate(FIB)), 17711));
  out.loop = await measure(5, async () => mustBe(Number(await peer.evaluate(LOOP)), 2999997));
  console.log(JSON.stringify(out));
  process.exit(0);
}

await main(process.argv.slice(2));
