// Measures one peer in a process of its own and prints one JSON object:
//
//   node peer.mjs {monty|pyodide} {first|warm|ordinary} [RUNS|FOLDER]
//
// first: the process ends after its first output, so that the caller can time the
// whole process. warm: medians in milliseconds of
//   start   a fresh interpreter and the value of 1+1
//   call    one call of a function of the host, from a loop of calls inside one program
//   fib     fib(20)
//   words   200,000 words counted in a dict
// ordinary: how many of the programs NAME.py of a folder print what NAME.out says.
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

const FIB = 'def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(20)';
const WORDS = 'd = {}\nfor i in range(200000):\n    w = "w" + str(i % 997)\n    d[w] = d.get(w, 0) + 1\nlen(d)';
const CALLS = 500;
const CALLED = `n = 0\nfor i in range(${CALLS}):\n    n += ping(i)\nn`;

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
function mustBe(got, want) {
  if (Number(got) !== want) throw new Error(`got ${got}, want ${want}`);
}

// Each peer gives fresh(): an interpreter that nobody has used, as {run(program, functions, print) -> value}.
const peers = {
  // The package of the binding asks for those of every platform, which not every
  // registry has; this is what it loads here.
  async monty() {
    const { Monty, MontyException, MontySnapshot } = createRequire(import.meta.url)('@pydantic/monty-linux-x64-gnu');
    return {
      async fresh() {
        return {
          run(program, functions, print) {
            let at = Monty.create(program);
            if (!(at instanceof MontyException)) at = at.start({ printCallback: (stream, text) => { print(text); } });
            while (at instanceof MontySnapshot) at = at.resume({ returnValue: functions[at.functionName](...at.args) });
            if (at instanceof MontyException) throw new Error(String(at));
            return at.output;
          },
        };
      },
    };
  },
  async pyodide() {
    const { loadPyodide } = await import('pyodide');
    return {
      async fresh() {
        let out = () => {};
        const p = await loadPyodide({ stdout: (line) => out(line + '\n') });
        return {
          run(program, functions, print) {
            out = print;
            for (const [name, f] of Object.entries(functions)) p.globals.set(name, f);
            return p.runPython(program);
          },
        };
      },
    };
  },
};

const [name, mode, argument] = process.argv.slice(2);
const peer = await peers[name]();
const none = () => {};

async function timed(use) {
  const i = await peer.fresh();
  const began = performance.now();
  use(i);
  return performance.now() - began;
}

if (mode === 'first') {
  (await peer.fresh()).run('print(1 + 1)', {}, (text) => process.stdout.write(text));
} else if (mode === 'warm') {
  const runs = Number(argument ?? 5);
  const all = { start: [], call: [], fib: [], words: [] };
  for (let k = 0; k < runs; k++) {
    const began = performance.now();
    mustBe((await peer.fresh()).run('1 + 1', {}, none), 2);
    all.start.push(performance.now() - began);
    all.call.push((await timed((i) => mustBe(i.run(CALLED, { ping: () => 1 }, none), CALLS))) / CALLS);
    all.fib.push(await timed((i) => mustBe(i.run(FIB, {}, none), 6765)));
    all.words.push(await timed((i) => mustBe(i.run(WORDS, {}, none), 997)));
  }
  console.log(JSON.stringify(Object.fromEntries(Object.entries(all).map(([k, v]) => [k, median(v)]))));
} else {
  let ok = 0, of = 0;
  for (const file of readdirSync(argument).filter((f) => f.endsWith('.py'))) {
    const base = join(argument, file.slice(0, -3));
    if (existsSync(base + '.in')) continue; // standard input is not theirs to have
    of++;
    let text = '';
    try {
      (await peer.fresh()).run(readFileSync(base + '.py', 'utf8'), {}, (t) => { text += t; });
      if (text === readFileSync(base + '.out', 'utf8')) ok++;
    } catch { /* counted as not ok */ }
  }
  console.log(JSON.stringify({ ok, of }));
}
process.exit(0);
