const http = require("http"), os = require("os"), net = require("net");
const s = http.createServer((q, r) => r.end("ok")).listen(0, "127.0.0.1", async () => {
  os.networkInterfaces();
  const r = await fetch("http://127.0.0.1:" + s.address().port);
  const c = net.connect(s.address().port, "127.0.0.1", () => {
    c.setNoDelay(true).setKeepAlive(true).destroy();
  });
  console.log("node network", (await r.text()) === "ok" ? "works" : "broken");
  setTimeout(() => process.exit(0), 20);
});
