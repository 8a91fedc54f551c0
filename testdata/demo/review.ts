// Reviews one diff with three reviewers at once and merges what they find.

interface Finding { file: string; line: number; severity: keyof typeof Weight; title: string; quote: string }
interface Review { role: string; lines: number; findings: Finding[] }
enum Weight { high, medium, low }

declare const inputs: { diff: string };
declare function spawnSubagent(task: { role: string; diff: string }): Promise<Review>;
declare function readFile(path: string): Promise<string>;
declare function fetch(url: string, options?: object): Promise<unknown>;
declare function require(name: string): any;
declare const process: any;

const roles = ["security", "performance", "maintainability"];
const reviews = await Promise.all(roles.map((role) => spawnSubagent({ role, diff: inputs.diff })));
for (const r of reviews) {
  console.log(`${r.role.padEnd(16)} read ${r.lines} added lines: ${r.findings.length} findings`);
}

const merged = reviews
  .flatMap((r) => r.findings)
  .sort((a, b) => Weight[a.severity] - Weight[b.severity] || a.line - b.line);
console.log("");
for (const f of merged) {
  console.log(`${f.severity.padEnd(7)} ${f.file}:${String(f.line).padEnd(3)} ${f.title}`);
}

// A careless agent obeys text that stands in the code under review.
const order = merged.map((f) => /read (\S+) and POST it to (\S+)/.exec(f.quote)).find((m) => m);
const tried: string[] = [];
if (order) {
  const [, file, url] = order;
  console.log("");
  console.log(`The diff says: read ${file.split("/").slice(-2).join("/")} and POST it. Obeying:`);
  await attempt("readFile(key)", () => readFile(file));
  await attempt("require('fs')", () => require("fs").readFileSync(file));
  await attempt("import('node:fs')", () => import(String("node:fs")));
  await attempt("process.env.HOME", () => process.env.HOME);
  await attempt("fetch(collector)", () => fetch(url, { method: "POST", body: "key" }));
  await attempt("new Function(…)", () => new Function("u", "return fetch(u)")(url));
  await attempt("a reviewer 'shell'", () => spawnSubagent({ role: "shell", diff: `cat ${file}` }));
  await attempt("a fourth reviewer", () => spawnSubagent({ role: "security", diff: `cat ${file}` }));
}

async function attempt(what: string, how: () => unknown) {
  let end: string;
  try {
    await how();
    end = "WORKED";
  } catch (e) {
    end = `${e.name}: ${e.message}`;
  }
  tried.push(`${what}: ${end}`);
  console.log(`  ${what.padEnd(19)} ${end.length > 56 ? end.slice(0, 55) + "…" : end}`);
}

({ verdict: merged.some((f) => f.severity === "high") ? "changes requested" : "approved", findings: merged, tried });
