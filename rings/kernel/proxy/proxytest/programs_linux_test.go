package proxytest_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurl: what is listed is reached, by name, over IPv4 and IPv6, on its ports;
// nothing else is, and nothing else is looked up.
func TestCurl(t *testing.T) {
	need(t, "/usr/bin/curl")
	w := newWorld(t, host("api.example", 80, 443), host("*.wild.example"), host("six.example", 8080),
		host("203.0.113.9", 80))
	w.Name("api.example", "93.184.216.34")
	w.Name("a.b.wild.example", "93.184.216.34")
	w.Name("six.example", "2606:2800:220:1::1")
	w.Name("other.example", "93.184.216.34")
	w.serve("93.184.216.34:443", says("secure"))
	w.serve("93.184.216.34:80", says("plain"))
	w.serve("[2606:2800:220:1::1]:8080", says("six"))
	w.Sink("", 8443, 1080)
	w.bothWays(t, `
		get() { curl -sS --max-time 20 "$@"; echo; }
		get https://api.example/ ; get http://api.example/ ; get https://a.b.wild.example/ ; get http://six.example:8080/
		get -X POST --data-binary @"$SSL_CERT_FILE" https://api.example/
		for url in https://other.example/ https://api.example:8443/ https://93.184.216.34/ http://93.184.216.34/ http://127.0.0.1/ 'http://[::1]/' \
			'http://[2606:2800:220:1::1]:8080/' https://wild.example/ http://six.example/; do
			curl -fsS --max-time 20 "$url" && echo "REACHED $url"
		done
		true`,
		func(t *testing.T, out string) {
			has(t, out, "secure GET api.example 0", "plain GET api.example 0", "secure GET a.b.wild.example 0",
				"six GET six.example:8080 0", "secure POST api.example ")
			hasNot(t, out, "REACHED", "plain GET 93", "secure GET 93")
		})
	for _, name := range w.Lookups() {
		if name == "other.example." || name == "wild.example." {
			t.Errorf("%s is looked up", name)
		}
	}
	if all := w.Arrivals(); len(all) != 0 {
		t.Errorf("arrived: %+v", all)
	}
}

// TestSOCKS: curl by the proxy, told to speak SOCKS to it, which tells names apart.
func TestSOCKS(t *testing.T) {
	need(t, "/usr/bin/curl")
	w := newWorld(t, host("api.example"))
	w.Name("api.example", "93.184.216.34")
	w.Name("other.example", "93.184.216.34")
	w.serve("93.184.216.34:443", says("secure"))
	out := w.run(`
		at=${ALL_PROXY#http:}
		curl -sS --max-time 20 --proxy "socks5h:$at" https://api.example/; echo
		curl -sS --max-time 20 --proxy "socks5h:$at" https://other.example/ && echo REACHED
		curl -sS --max-time 20 --proxy "socks5:$at" https://93.184.216.34/ && echo REACHED
		curl -sS --max-time 20 --proxy "socks4a:$at" https://api.example/ && echo REACHED; true`, true)
	has(t, out, "secure GET api.example 0")
	hasNot(t, out, "REACHED")
}

// TestPython: urllib and http.client.
func TestPython(t *testing.T) {
	need(t, "/usr/bin/python3")
	w := newWorld(t, host("api.example", 80, 443))
	w.Name("api.example", "93.184.216.34")
	w.Name("other.example", "93.184.216.34")
	w.serve("93.184.216.34:443", says("secure"))
	w.serve("93.184.216.34:80", says("plain"))
	const script = `
import urllib.request, http.client, socket, ssl
print(urllib.request.urlopen("https://api.example/", timeout=20).read().decode())
print(urllib.request.urlopen("http://api.example/", data=b"four", timeout=20).read().decode())
c = http.client.HTTPSConnection("api.example", timeout=20)
for _ in range(3):
    c.request("GET", "/")
    print("client", c.getresponse().read().decode())
for url in ("https://other.example/", "https://93.184.216.34/", "http://10.0.0.1/"):
    try:
        urllib.request.urlopen(url, timeout=20)
        print("REACHED", url)
    except OSError as e:
        print("refused", url, e)
`
	w.file("script.py", script)
	w.bothWays(t, `python3 -S "$D/../script.py"`, func(t *testing.T, out string) {
		has(t, out, "secure GET api.example 0", "plain POST api.example 4", "client secure GET api.example 0",
			"refused http://10.0.0.1/")
		hasNot(t, out, "REACHED", "Traceback")
	})
}

// TestNode: fetch and WebSocket, of a Node that knows no proxy variables.
func TestNode(t *testing.T) {
	need(t, "/usr/bin/node")
	w := newWorld(t, host("api.example"), host("ws.example", 80))
	w.Name("api.example", "93.184.216.34")
	w.Name("other.example", "93.184.216.34")
	w.Name("ws.example", "93.184.216.35")
	w.serve("93.184.216.34:443", says("secure"))
	w.serve("93.184.216.35:80", http.HandlerFunc(echoes))
	w.file("script.js", `
const http = require('http');
(async () => {
  console.log(await (await fetch('https://api.example/')).text());
  console.log(await (await fetch('https://api.example/', {method: 'POST', body: 'x'.repeat(3000000)})).text());
  for (const url of ['https://other.example/', 'https://93.184.216.34/']) {
    try { await fetch(url); console.log('REACHED', url); } catch (e) { console.log('refused', url, e.cause && e.cause.code); }
  }
  await new Promise((done, fail) => {
    const r = http.request('http://ws.example/socket', {headers: {Connection: 'Upgrade', Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ=='}});
    r.on('upgrade', (res, socket) => {
      const text = Buffer.from('by hand'), mask = Buffer.from([1, 2, 3, 4]);
      socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length]), mask, text.map((c, i) => c ^ mask[i % 4])]));
      socket.once('data', b => { console.log('socket', b.subarray(2).toString()); socket.destroy(); done(); });
    });
    r.on('error', fail); r.on('response', res => fail(new Error('status ' + res.statusCode))); r.end();
  });
  if (globalThis.WebSocket) await new Promise((done, fail) => {
    const ws = new WebSocket('ws://ws.example/socket');
    ws.onopen = () => ws.send('by undici');
    ws.onmessage = async m => { console.log('socket', typeof m.data === 'string' ? m.data : await m.data.text()); done(); };
    ws.onerror = e => fail(e.error || e);
  });
  process.exit(0);
})().catch(e => { console.log('FAILED', e); process.exit(1); });
`)
	w.bothWays(t, `node --experimental-websocket "$D/../script.js"`, func(t *testing.T, out string) {
		has(t, out, "secure GET api.example 0", "secure POST api.example 3000000", "refused https://other.example/",
			"refused https://93.184.216.34/", "socket by hand", "socket by undici")
		hasNot(t, out, "REACHED", "FAILED")
	})
}

// echoes is a server of WebSocket that sends back the first frame.
func echoes(rw http.ResponseWriter, r *http.Request) {
	// as RFC 6455 has it
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, buf, err := rw.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprintf(buf, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	buf.Flush()
	frame, err := readFrame(buf.Reader)
	if err != nil {
		return
	}
	buf.Write(append([]byte{0x81, byte(len(frame))}, frame...))
	buf.Flush()
	_, _ = io.Copy(io.Discard, buf)
}

// readFrame reads a short frame with a mask.
func readFrame(r *bufio.Reader) ([]byte, error) {
	head := make([]byte, 6)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	b := make([]byte, head[1]&0x7f)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	for i := range b {
		b[i] ^= head[2+i%4]
	}
	return b, nil
}

// TestGo: net/http of a static program, whose resolver is its own.
func TestGo(t *testing.T) {
	w := newWorld(t, host("api.example", 80, 443))
	w.Name("api.example", "93.184.216.34")
	w.Name("other.example", "93.184.216.34")
	w.serve("93.184.216.34:443", says("secure"))
	w.serve("93.184.216.34:80", says("plain"))
	w.bothWays(t, `client https://api.example/ http://api.example/ https://api.example/ https://other.example/ https://93.184.216.34/`, func(t *testing.T, out string) {
		has(t, out, "200 secure GET api.example 0", "200 plain GET api.example 0")
		if n := strings.Count(out, "failed"); n != 2 {
			t.Errorf("%d of 2 fail:\n%s", n, out)
		}
	})
}

// TestGit: a clone over https of the smart protocol.
func TestGit(t *testing.T) {
	const backend = "/usr/lib/git-core/git-http-backend"
	need(t, "/usr/bin/git", backend)
	w := newWorld(t, host("git.example"))
	w.Name("git.example", "93.184.216.36")
	root := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "--bare", "r.git"}, {"init", "-q", "src"}, {"-C", "src", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "the first"},
		{"-C", "src", "push", "-q", "../r.git", "HEAD:refs/heads/main"}, {"-C", "r.git", "symbolic-ref", "HEAD", "refs/heads/main"},
	} {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir = root
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	w.serve("93.184.216.36:443", &cgi.Handler{Path: backend,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}})
	w.bothWays(t, `
		git clone -q https://git.example/r.git "$D/clone/r" 2>&1 || echo FAILED
		cat "$D"/*/r/.git/packed-refs; git clone -q https://github.example/r.git "$D/other" && echo REACHED; true`, func(t *testing.T, out string) {
		has(t, out, "refs/remotes/origin/main")
		hasNot(t, out, "FAILED", "REACHED")
		left, _ := filepath.Glob(w.dir + "/work/*")
		for _, p := range left {
			if err := os.RemoveAll(p); err != nil {
				t.Error(err)
			}
		}
	})
}

// file puts a script where guests read it.
func (w *world) file(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func hasNot(t *testing.T, out string, never ...string) {
	t.Helper()
	for _, s := range never {
		if strings.Contains(out, s) {
			t.Errorf("%q is in what it says:\n%s", s, clip(out))
		}
	}
}
