// Answers the rows of a shell corpus as another command filter would, one JSON
// line a row: {"id", "verdict": allow|ask|deny, "us": microseconds}.
//
//   node peer.mjs gemini|codex CORPUS
//
// Neither promises the corpus's rules: both match prefixes of a command and ask a
// person, or lean on a sandbox, for the rest. The rules that each is given are the
// closest it can express: an allowed program is an allowed prefix, a denied pattern
// a denied one.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createRequire } from 'node:module';

const [, , peer, corpus] = process.argv;
const rows = readFileSync(corpus, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const builtins = ['cd', 'echo', 'printf', 'pwd', 'test', '[', 'true', 'false', 'export', 'set', 'read', 'type', 'command', 'eval', 'exec', 'trap', 'unset', 'shift', 'local', 'declare', 'source'];

// Libraries talk; standard output is for the answers.
for (const level of ['log', 'debug', 'info', 'warn']) console[level] = () => {};

const answers = peer === 'gemini' ? await gemini() : codex();
for await (const a of answers) process.stdout.write(JSON.stringify(a) + '\n');

async function gemini() {
  const policy = '@google/gemini-cli-core/dist/src/policy/';
  const { PolicyEngine } = await import(policy + 'policy-engine.js');
  const { PolicyDecision } = await import(policy + 'types.js');
  const { buildArgsPatterns } = await import(policy + 'utils.js');
  const { initializeShellParsers } = await import('@google/gemini-cli-core/dist/src/utils/shell-utils.js');
  await initializeShellParsers();
  const rule = (prefix, decision, priority) => buildArgsPatterns(undefined, prefix, undefined).map((text) => ({
    toolName: 'run_shell_command', argsPattern: new RegExp(text), decision, priority, allowRedirection: true,
  }));
  const out = [];
  for (const row of rows) {
    const engine = new PolicyEngine({ nonInteractive: true, defaultDecision: PolicyDecision.DENY, rules: [
      ...row.denied_patterns.flatMap((p) => rule(p, PolicyDecision.DENY, 200)),
      ...[...row.allowed_binaries.map((p) => basename(p)), ...row.allowed_binaries, ...builtins].flatMap((p) => rule(p, PolicyDecision.ALLOW, 100)),
    ] });
    const call = { name: 'run_shell_command', args: { command: row.script } };
    const from = process.hrtime.bigint();
    let verdict = 'deny';
    try {
      verdict = (await engine.check(call, undefined)).decision;
    } catch {
      verdict = 'deny';
    }
    out.push({ id: row.id, verdict: verdict === 'ask_user' ? 'ask' : verdict, us: Number(process.hrtime.bigint() - from) / 1e3 });
  }
  return out;
}

function* codex() {
  const require = createRequire(import.meta.url);
  const root = dirname(require.resolve('@openai/codex-linux-x64/package.json', { paths: [dirname(require.resolve('@openai/codex/package.json'))] }));
  const binary = join(root, 'vendor/x86_64-unknown-linux-musl/bin/codex');
  const dir = mkdtempSync(join(tmpdir(), 'peer-'));
  try {
    for (const row of rows) {
      const words = (text) => JSON.stringify(text.split(' '));
      const rules = join(dir, 'r.rules');
      writeFileSync(rules, [
        ...row.denied_patterns.map((p) => `prefix_rule(pattern=${words(p)}, decision="forbidden")`),
        ...row.allowed_binaries.flatMap((p) => [`prefix_rule(pattern=[${JSON.stringify(basename(p))}], decision="allow")`, `prefix_rule(pattern=[${JSON.stringify(p)}], decision="allow")`]),
      ].join('\n') + '\n');
      // Its own splitter is not in this command: words alone are handed over as words,
      // anything else as the harness would run it.
      const plain = /^[\w./:=@%+,-]+( [\w./:=@%+,-]+)*$/.test(row.script);
      const argv = plain ? row.script.split(' ') : ['bash', '-lc', row.script.replaceAll('\0', '')];
      const from = process.hrtime.bigint();
      let verdict = 'ask';
      try {
        const said = JSON.parse(execFileSync(binary, ['execpolicy', 'check', '--rules', rules, '--', ...argv], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
        verdict = { allow: 'allow', forbidden: 'deny' }[said.decision] ?? 'ask';
      } catch {
        verdict = 'deny';
      }
      yield { id: row.id, verdict, us: Number(process.hrtime.bigint() - from) / 1e3, plain };
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
}
