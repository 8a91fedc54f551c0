// Reads a manual, asks a model through the gateway, and tries what it was not given.
declare const inputs: { base: string };
declare function fetch(url: string, init?: { method?: string; headers?: Record<string, string>; body?: string }): Promise<{ status: number; text(): Promise<string> }>;

const tried: string[] = [];
async function attempt(what: string, url: string, init?: { method?: string; headers?: Record<string, string>; body?: string }) {
  let end: string;
  try {
    const answer = await fetch(url, init);
    end = `${answer.status} ${await answer.text()}`;
  } catch (e) {
    end = `${e.name}: ${e.message}`;
  }
  tried.push(end);
  console.log(`  ${what.padEnd(21)} ${end.length > 55 ? end.slice(0, 54) + "…" : end}`);
}

await attempt("GET the manual", `${inputs.base}/manual/1`);
await attempt("POST to the gateway", "http://models.ringd.internal/messages", { method: "POST", headers: { Authorization: "Bearer made-up" }, body: "{}" });
await attempt("GET what is beside it", `${inputs.base}/admin`);
await attempt("POST to the collector", "http://127.0.0.1:9/", { method: "POST", body: "data" });
await attempt("GET the metadata", "http://169.254.169.254/latest/meta-data/");
await attempt("GET a paste", "https://pastebin.com/raw/x");
tried;
