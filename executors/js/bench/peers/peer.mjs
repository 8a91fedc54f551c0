// Measures one engine in a process of its own and prints one JSON object:
//
//   node peer.mjs NAME {first|warm} [RUNS]
//
// first: the process ends after the first result, so that the caller can time
// the whole process. warm: medians in milliseconds of
//   start    a fresh interpreter and the value of 1+1
//   call     one awaited host call, from a loop of calls inside one program
//   fib      fib(22) in a fresh interpreter
//   loop     a loop of 1e6 steps
import { readFile } from 'node:fs/promises';
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

// Each peer is {evaluate(expression) -> value, calls(n) -> n}: a fresh
// interpreter for every use, the way its documentation shows.
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
    };
  },

  async 'vercel-run'() {
    const { createRunner } = await import('run');
    const runner = createRunner({ limits: { maxBridgeRequests: 1 << 20 } });
    const use = async (source, hostFunctions) => {
      const result = await runner.run({ source, hostFunctions });
      if (result.status !== 'completed') throw new Error(result.error?.message ?? result.status);
      return result.value;
    };
    const tools = { tools: { ping: async () => 'pong' } };
    return {
      evaluate: (expression) => use(`return ${expression};`),
      calls: (n) => use(`let n=0; for(let i=0;i<${n};i++){ if(await tools.ping({i})==='pong') n++ } return n;`, tools),
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

async function main([name, mode, runs = '30']) {
  if (!peers[name] || !['first', 'warm'].includes(mode)) {
    console.error(`usage: node peer.mjs {${Object.keys(peers).join('|')}} {first|warm} [RUNS]`);
    process.exit(2);
  }
  const peer = await peers[name]();
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
