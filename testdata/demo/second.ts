// Asks one reviewer, waits for its harness, asks the next one.
declare const inputs: { diff: string };
declare function spawnSubagent(task: { role: string; diff: string }): Promise<{ findings: unknown[] }>;
declare function checkpoint(what: string): Promise<string>;

const first = await spawnSubagent({ role: "security", diff: inputs.diff });
console.log(`security found ${first.findings.length}; waiting at the checkpoint`);

const go = await checkpoint("before the second reviewer");
console.log(`the harness said: ${go}`);

let second: string;
try {
  await spawnSubagent({ role: "performance", diff: inputs.diff });
  second = "allowed";
} catch (e) {
  second = `${e.name}: ${e.message}`;
}
console.log(`second reviewer: ${second}`);
second;
