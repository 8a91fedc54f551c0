package kernel_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// A benign program does ordinary things, and they work.
type benign struct {
	name     string
	tools    []string // programs it needs; of Debian's packages
	packages string
	read     []string // folders, besides its workspace
	libs     []string
	jit      bool
	memory   int64
	script   string // of argv[0]
	argv     []string
	want     string // of standard output
}

const coreutils = "basename cat chmod cmp comm cp cut date dd dirname du env expr find grep head id join ln ls " +
	"md5sum mkdir mktemp mv nproc od paste printf readlink realpath rm rmdir sed seq sha256sum sleep sort split stat tail tee timeout touch tr true truncate uname uniq wc xargs awk gzip tar diff"

const bashScript = `set -euo pipefail
a=(one two three); declare -A m=([x]=1 [y]=2)
[ "${#a[@]}" = 3 ] && [ "${m[y]}" = 2 ]
f() { local n=$1; [ "$n" -le 1 ] && { echo 1; return; }; echo $(( n * $(f $((n-1))) )); }
[ "$(f 6)" = 720 ]
printf '%s\n' c a b | sort | { read -r x; [ "$x" = a ]; }
(exit 3) || [ $? = 3 ]
sleep 0.05 & wait $!
cat <<E | grep here >/dev/null
here
E
diff <(seq 3) <(printf '1\n2\n3\n')
trap 'echo bye' EXIT
[[ abc =~ ^a(.)c$ ]] && [ "${BASH_REMATCH[1]}" = b ]
exec 5>out; echo five >&5; exec 5>&-; [ "$(<out)" = five ]
echo err >/dev/stderr; echo out >/dev/stdout; : </dev/stdin
echo fine
`

const coreScript = `set -euo pipefail
mkdir -p d/e; cp -a /proc/self/status d/s 2>/dev/null || cat /proc/self/status >d/s
seq 1 100 | tee d/n | sha256sum | cut -c1-8
mv d/n d/e/n; ln -s e/n d/l; ln d/e/n d/h; readlink d/l; realpath d/l >/dev/null
[ "$(stat -c %h d/h)" = 2 ]; chmod 640 d/h; touch -d 2020-01-01 d/h; ls -lR d >/dev/null; du -sh d >/dev/null
head -3 d/h | tail -1; wc -l <d/h; sort -rn d/h | uniq | sed -n 1p; tr 0-9 a-j <d/h | sed -n 1p
split -l 10 d/h d/x; paste d/xaa d/xab | wc -l; comm -12 d/xaa d/xaa | wc -l; join d/xaa d/xaa | wc -l
find d -type f -name 'x*' | xargs -n 3 wc -l | awk '{s+=$1} END {print s>0}'
dd if=/dev/zero of=d/z bs=1k count=4 2>/dev/null; cp --sparse=always d/z d/y; dd if=d/z of=d/w bs=1k conv=sparse 2>/dev/null
truncate -s 9000 d/v; cmp d/z d/y; tar cSf d.tar d/v; tar xf d.tar -O | wc -c; rm d/[vwy] d.tar; od -An -tx1 -N4 d/z; md5sum d/z | cut -c1-4
tar czf d.tgz d; mkdir o; tar xzf d.tgz -C o; diff -r d o/d
t=$(mktemp); echo x >"$t"; rm "$t"; timeout 5 true; sed s/1/one/ d/xaa | sed -n 1p; grep -c 1 d/h; expr 2 + 3
dirname /a/b; basename /a/b; printf '%03d\n' 7; [ "$(nproc)" -ge 1 ]; date +%Y >/dev/null; uname -s; env -i true; id -u >/dev/null
rm -r d o d.tgz
echo fine
`

const gitScript = `set -euo pipefail
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z
git config --global user.name t; git config --global user.email t@example.com; git config --global init.defaultBranch main
git init -q r; cd r; echo a >f; git add f; git commit -qm first; echo b >>f; git diff --stat | grep '1 +' >/dev/null
git commit -qam second; git log --oneline | wc -l; git checkout -qb x; git merge -q main; git branch | wc -l
git stash list; git tag v1; git gc -q; git fsck 2>/dev/null; cd ..
git clone -q r c; cd c; git log -1 --format=%s; git status --short | wc -l; git fetch -q; git pull -q
git -C ../r worktree add -q ../w x 2>/dev/null || true
git blame f | wc -l; [ "$(git archive HEAD | wc -c)" -gt 0 ]
echo fine
`

const pythonScript = `
import json, sqlite3, ssl, subprocess, threading, tempfile, os, socket, hashlib, asyncio, multiprocessing, concurrent.futures, re, decimal, datetime, zlib, random, csv, io
assert json.loads(json.dumps({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}
db = sqlite3.connect("t.db"); db.execute("create table t(x)"); db.executemany("insert into t values(?)", [(i,) for i in range(100)]); db.commit()
assert db.execute("select sum(x) from t").fetchone() == (4950,)
db.execute("pragma journal_mode=wal"); db.executemany("insert into t values(?)", [(i,) for i in range(10000)]); db.commit(); db.execute("vacuum"); db.close()
with open("room", "wb") as f: os.posix_fallocate(f.fileno(), 0, 1 << 20); assert os.stat("room").st_size == 1 << 20
assert ssl.OPENSSL_VERSION and ssl.create_default_context is not None
assert subprocess.run(["/usr/bin/bash", "-c", "echo $((6*7))"], capture_output=True, text=True).stdout == "42\n"
n = []; ts = [threading.Thread(target=n.append, args=(i,)) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]; assert sorted(n) == list(range(8))
with tempfile.NamedTemporaryFile() as f: f.write(b"x"); f.flush(); assert os.path.getsize(f.name) == 1
a, b = socket.socketpair(); a.send(b"hi"); assert b.recv(2) == b"hi"
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); c.send(b"x"); assert s.accept()[0].recv(1) == b"x"
async def m(): return await asyncio.gather(*(asyncio.sleep(0.001, i) for i in range(5)))
assert asyncio.run(m()) == [0, 1, 2, 3, 4]
async def p():
    q = await asyncio.create_subprocess_exec("/usr/bin/bash", "-c", "echo y", stdout=asyncio.subprocess.PIPE); return (await q.communicate())[0]
assert asyncio.run(p()) == b"y\n"
with concurrent.futures.ThreadPoolExecutor(4) as e: assert sum(e.map(len, ["a", "bb"])) == 3
r, w = os.pipe()
if os.fork() == 0: os.write(w, b"z"); os._exit(0)
assert os.read(r, 1) == b"z"; os.wait()
hashlib.sha256(b"x").hexdigest(); zlib.crc32(b"x"); re.match("a+", "aa"); decimal.Decimal("1.1"); datetime.datetime.now()
print("fine")
`

const nodeScript = `
const fs = require('fs'), { Worker } = require('worker_threads'), { execFileSync } = require('child_process'), zlib = require('zlib'), crypto = require('crypto');
let s = 0; for (let i = 0; i < 2e6; i++) s += i % 7;
fs.writeFileSync('n.json', JSON.stringify({s})); if (JSON.parse(fs.readFileSync('n.json')).s !== s) throw 1;
fs.copyFileSync('n.json', 'c.json'); fs.truncateSync('c.json', 1 << 20); fs.appendFileSync('c.json', 'x'); if (fs.statSync('c.json').size !== (1 << 20) + 1) throw 6;
if (String(execFileSync('/usr/bin/bash', ['-c', 'echo hi'])) !== 'hi\n') throw 2;
if (String(zlib.gunzipSync(zlib.gzipSync('x'))) !== 'x') throw 3;
crypto.createHash('sha256').update('x').digest('hex');
const net = require('net'); const srv = net.createServer(c => c.end('ok')).listen(0, '127.0.0.1', () =>
  net.connect(srv.address().port, '127.0.0.1').on('data', d => { if (String(d) !== 'ok') throw 4; srv.close();
    new Worker('require("worker_threads").parentPort.postMessage(40 + 2)', {eval: true}).on('message', v => { if (v !== 42) throw 5; console.log('fine'); }); }));
`

const rustProgram = `
use std::{thread, sync::{Arc, Mutex, mpsc}, fs, process::Command, net::{TcpListener, TcpStream}, io::{Read, Write}, collections::HashMap, time::Duration};
fn main() {
    let sum = Arc::new(Mutex::new(0u64));
    let hs: Vec<_> = (0..8u64).map(|i| { let s = sum.clone(); thread::spawn(move || { *s.lock().unwrap() += i; }) }).collect();
    for h in hs { h.join().unwrap(); }
    assert_eq!(*sum.lock().unwrap(), 28);
    let (tx, rx) = mpsc::channel(); thread::spawn(move || tx.send(7).unwrap()); assert_eq!(rx.recv().unwrap(), 7);
    let mut m = HashMap::new(); for i in 0..1000 { m.insert(i, vec![0u8; 1000]); } assert_eq!(m.len(), 1000);
    fs::write("rust.txt", "x").unwrap(); assert_eq!(fs::read_to_string("rust.txt").unwrap(), "x");
    thread::sleep(Duration::from_millis(1));
    assert!(Command::new("/usr/bin/bash").args(["-c", "exit 0"]).status().unwrap().success());
    let l = TcpListener::bind("127.0.0.1:0").unwrap(); let a = l.local_addr().unwrap();
    let t = thread::spawn(move || { let mut c = l.accept().unwrap().0; c.write_all(b"ok").unwrap(); });
    let mut b = String::new(); TcpStream::connect(a).unwrap().read_to_string(&mut b).unwrap(); assert_eq!(b, "ok"); t.join().unwrap();
    assert!(std::panic::catch_unwind(|| { let v: Vec<i32> = vec![]; v[0] }).is_err());
    println!("fine");
}
`

// which finds a program of Debian's; one of another place may need what is not
// granted here.
func which(names ...string) (found, missing []string) {
	for _, n := range names {
		path := n
		if !filepath.IsAbs(n) {
			path = ""
			for _, d := range []string{"/usr/bin", "/bin"} {
				if _, err := os.Stat(filepath.Join(d, n)); err == nil {
					path = filepath.Join(d, n)
					break
				}
			}
		}
		real, err := filepath.EvalSymlinks(path)
		if path == "" || err != nil {
			missing = append(missing, n)
			continue
		}
		found = append(found, path, real)
	}
	return found, missing
}

func exists(paths ...string) []string {
	var all []string
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// TestBenignPrograms: what people run works inside a guest.
func TestBenignPrograms(t *testing.T) {
	r, _ := probeRing(t)
	python, _ := filepath.EvalSymlinks("/usr/bin/python3")
	version := "/usr/lib/" + filepath.Base(python)
	gitTools := append(strings.Fields("bash sh git git-upload-pack cat wc grep head sed"),
		exists("/usr/lib/git-core/git", "/usr/lib/git-core/git-upload-pack")...)
	p := built(t, "benign")
	for _, b := range []benign{
		{name: "bash", tools: strings.Fields("bash sort sleep cat grep diff seq"), packages: "bash coreutils grep diffutils", script: bashScript, argv: []string{"/usr/bin/bash"}, want: "fine\nbye\n"},
		{name: "coreutils", tools: append(strings.Fields(coreutils), "bash", "sh", "gzip"), packages: "coreutils findutils sed mawk tar gzip diffutils", script: coreScript, argv: []string{"/usr/bin/bash"}, want: "fine"},
		{name: "git", tools: gitTools, packages: "git", read: exists("/usr/share/git-core"), script: gitScript, argv: []string{"/usr/bin/bash"}, want: "fine"},
		// It compiles its patterns, and has no other way.
		{name: "git grep", tools: gitTools, packages: "git", jit: true, read: exists("/usr/share/git-core"), script: "git init -q r; cd r; echo a >f; git add f; git grep -c a", argv: []string{"/usr/bin/bash"}, want: "f:1"},
		{name: "python", tools: []string{"python3", "bash"}, packages: "python3", read: exists("/usr/lib/python3", version, "/etc/ssl/openssl.cnf"), libs: exists(version + "/lib-dynload"), script: pythonScript, argv: []string{python}, want: "fine"},
		{name: "jq", tools: []string{"jq", "bash"}, packages: "jq", argv: []string{"/usr/bin/jq", "-n", "-c", `[range(5)] | map(. * 2) | {s: add, t: "a,b" | split(",")}`}, want: `{"s":20,"t":["a","b"]}`},
		{name: "go", argv: []string{p["benign"]}, want: "fine"},
		{name: "rust", tools: []string{"bash"}, packages: "rustc", argv: []string{rust(t)}, want: "fine"},
		{name: "node", tools: []string{"node", "bash"}, packages: "nodejs", jit: true, memory: 2 << 30, read: exists("/usr/share/nodejs", "/etc/ssl/openssl.cnf"), script: nodeScript, argv: []string{"/usr/bin/node"}, want: "fine"},
		{name: "node without jit", tools: []string{"node", "bash"}, packages: "nodejs", memory: 2 << 30, read: exists("/usr/share/nodejs", "/etc/ssl/openssl.cnf"), script: `console.log([1,2].map(x => x * 2).join())`, argv: []string{"/usr/bin/node", "--jitless"}, want: "2,4"},
	} {
		t.Run(b.name, func(t *testing.T) {
			found, missing := which(b.tools...)
			if len(missing) > 0 || b.argv[0] == "" {
				why := "not on this host: " + strings.Join(missing, " ") + "; Debian's " + b.packages
				if os.Getenv("RINGD_REQUIRE_KERNEL") == "1" && b.name != "rust" {
					t.Fatal(why)
				}
				t.Skip(why)
			}
			out, bad, e := b.run(t, r, found)
			if e.Code != 0 || e.Signal != 0 || !strings.Contains(out, b.want) {
				t.Errorf("%+v\n%s\n%s", e, clipped(out), clipped(bad))
			}
		})
	}
}

// rust compiles a program; "" when there is no compiler.
func rust(t *testing.T) string {
	t.Helper()
	rustc, err := exec.LookPath("rustc")
	if err != nil {
		return ""
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "main.rs"), filepath.Join(dir, "benign-rust")
	if err := os.WriteFile(src, []byte(rustProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), rustc, "--edition", "2021", "-o", bin,
		src).CombinedOutput(); err != nil {
		t.Logf("rustc: %v\n%s", err, out)
		return ""
	}
	return bin
}

func (b benign) run(t *testing.T, r executors.Launcher, programs []string) (out, bad string, e executors.Exit) {
	t.Helper()
	dir := t.TempDir()
	openUp(t, dir)
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(ws, 0o777); err != nil {
		t.Fatal(err)
	}
	s := workspace(ws, b.argv...)
	if b.script != "" {
		file := filepath.Join(ws, "script")
		if err := os.WriteFile(file, []byte(b.script), 0o644); err != nil {
			t.Fatal(err)
		}
		s.Argv = append(s.Argv, file)
	}
	s.Dir, s.CPU, s.Env = ws, 30*time.Second, []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=" + ws}
	k := &s.Kernel
	k.JIT, k.Processes, k.Files, k.CPUMillis, k.OutputBytes = b.jit, 64, 256, 30_000, 1<<20
	k.MemoryBytes = max(b.memory, 512<<20)
	s.MemoryBytes = k.MemoryBytes
	seen := map[string]bool{}
	for _, p := range programs {
		if !seen[p] {
			k.Exec = append(k.Exec, profiles.PathRule{Path: p})
		}
		seen[p] = true
	}
	for _, p := range b.read {
		k.Read = append(k.Read, profiles.PathRule{Path: p})
	}
	for _, p := range b.libs {
		k.Libraries = append(k.Libraries, profiles.PathRule{Path: p})
	}
	return toItsEnd(t, r, s)
}

// toItsEnd starts a program and returns what it wrote and how it ended.
func toItsEnd(t *testing.T, r executors.Launcher, s executors.Spec) (out, bad string, e executors.Exit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	g, err := r.Launch(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Conn().Close()
	st := g.(executors.Streamer)
	if err := st.Stdin().Close(); err != nil {
		t.Error(err)
	}
	var o, b bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(&b, st.Stderr()) })
	_, _ = io.Copy(&o, st.Stdout())
	wg.Wait()
	e, err = st.Wait(ctx)
	if err != nil {
		t.Fatal(err, o.String(), b.String())
	}
	return o.String(), b.String(), e
}
