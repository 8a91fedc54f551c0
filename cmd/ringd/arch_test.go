package main_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is this project's module path; every key below is relative to it.
const module = "github.com/ringd/ringd"

// layers says which packages of the project a package may import. A package
// that is not listed fails the test: a new one is a decision.
var layers = map[string][]string{
	"cmd/ringd/internal/api": {
		"cmd/ringd/internal/api/typescript", "cmd/ringd/internal/audit", "cmd/ringd/internal/config",
		"cmd/ringd/internal/daemon", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/metrics",
		"cmd/ringd/internal/daemon/policy", "cmd/ringd/internal/daemon/records", "cmd/ringd/internal/daemon/view",
		"cmd/ringd/internal/daemon/waiting", "cmd/ringd/internal/safetext", "cmd/ringd/internal/store", "profiles",
		"profiles/canonjson", "rings/kernel/listener", "schema/wire",
	},
	"cmd/ringd/internal/api/apitest":     {},
	"cmd/ringd/internal/api/typescript":  {"profiles"},
	"cmd/ringd/internal/atomicfile":      {},
	"cmd/ringd/internal/audit":           {"cmd/ringd/internal/atomicfile", "cmd/ringd/internal/keypem", "profiles"},
	"cmd/ringd/internal/audit/audittest": {"cmd/ringd/internal/audit", "cmd/ringd/internal/cli"},
	"cmd/ringd/internal/bridges": {
		"executors", "executors/js/engine/value", "executors/shell/shellproto", "profiles", "profiles/egress",
		"rings/interpreter/binding", "rings/interpreter/contract", "rings/kernel/proxy",
		"rings/kernel/proxy/httpproxy",
	},
	"cmd/ringd/internal/cli": {
		"cmd/ringd/internal/audit", "cmd/ringd/internal/config", "cmd/ringd/internal/safetext",
		"cmd/ringd/internal/syncer", "executors", "executors/js/engine/value", "profiles", "profiles/spelling",
		"schema", "schema/client", "schema/wire",
	},
	"cmd/ringd/internal/cli/clitest": {"profiles"},
	"cmd/ringd/internal/commands": {
		"cmd/ringd/internal/atomicfile", "cmd/ringd/internal/audit", "cmd/ringd/internal/cli",
		"cmd/ringd/internal/config", "cmd/ringd/internal/daemon", "cmd/ringd/internal/daemon/lockdown",
		"cmd/ringd/internal/daemon/policy", "cmd/ringd/internal/daemon/view", "cmd/ringd/internal/daemon/waiting",
		"cmd/ringd/internal/safetext", "cmd/ringd/internal/store", "cmd/ringd/internal/syncer",
		"cmd/ringd/internal/trust", "cmd/ringd/internal/worker", "compiler/enforcement", "compiler/guardrail",
		"compiler/headroom", "compiler/layers", "compiler/lint", "compiler/policytest", "executors",
		"executors/js/engine/value", "executors/python", "executors/python/environment", "profiles", "profiles/diff",
		"profiles/egress", "profiles/powers", "profiles/spelling", "rings/interpreter/budget",
		"rings/interpreter/jsonvalue", "rings/kernel/hostcheck", "rings/kernel/initproto", "schema", "schema/client",
		"schema/convert", "schema/format", "schema/wire",
	},
	"cmd/ringd/internal/config": {"profiles/egress", "schema"},
	"cmd/ringd/internal/daemon": {
		"cmd/ringd/internal/audit", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/metrics",
		"cmd/ringd/internal/daemon/policy", "cmd/ringd/internal/daemon/records", "cmd/ringd/internal/daemon/view",
		"cmd/ringd/internal/daemon/waiting", "cmd/ringd/internal/notify", "cmd/ringd/internal/store",
		"cmd/ringd/internal/syncer", "cmd/ringd/internal/trust", "executors", "profiles", "profiles/egress",
		"rings/interpreter", "rings/interpreter/binding", "rings/interpreter/contract", "rings/interpreter/pause",
		"rings/interpreter/run", "rings/kernel/pace", "schema", "schema/wire",
	},
	"cmd/ringd/internal/daemon/daemontest": {
		"cmd/ringd/internal/audit", "cmd/ringd/internal/daemon", "cmd/ringd/internal/daemon/lockdown",
		"cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/daemon/policy", "cmd/ringd/internal/daemon/records",
		"cmd/ringd/internal/daemon/waiting", "cmd/ringd/internal/seal", "cmd/ringd/internal/store",
		"cmd/ringd/internal/syncer", "cmd/ringd/internal/trust", "executors", "profiles", "rings/interpreter",
		"rings/interpreter/contract", "rings/interpreter/pause", "schema",
	},
	"cmd/ringd/internal/daemon/lockdown": {
		"cmd/ringd/internal/atomicfile", "cmd/ringd/internal/audit", "cmd/ringd/internal/daemon/metrics",
		"cmd/ringd/internal/syncer", "cmd/ringd/internal/trust", "profiles", "profiles/canonjson", "schema/wire",
	},
	"cmd/ringd/internal/daemon/metrics": {"profiles", "profiles/egress"},
	"cmd/ringd/internal/daemon/network": {
		"cmd/ringd/internal/bridges", "cmd/ringd/internal/config", "cmd/ringd/internal/daemon/metrics",
		"cmd/ringd/internal/daemon/records", "profiles", "profiles/egress", "rings/interpreter/contract",
		"rings/kernel/hostcheck", "rings/kernel/proxy", "schema/wire",
	},
	"cmd/ringd/internal/daemon/policy": {
		"cmd/ringd/internal/audit", "cmd/ringd/internal/daemon/lockdown", "cmd/ringd/internal/daemon/metrics",
		"cmd/ringd/internal/daemon/records", "cmd/ringd/internal/daemon/view", "cmd/ringd/internal/store",
		"cmd/ringd/internal/syncer", "cmd/ringd/internal/trust", "cmd/ringd/internal/worker", "compiler/layers",
		"profiles", "rings/interpreter", "schema", "schema/wire",
	},
	"cmd/ringd/internal/daemon/records": {
		"cmd/ringd/internal/audit", "cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/daemon/rowmac",
		"cmd/ringd/internal/store", "executors", "profiles", "rings/interpreter/contract", "rings/kernel/pace",
		"rings/kernel/proxy",
	},
	"cmd/ringd/internal/daemon/rowmac": {"cmd/ringd/internal/seal", "cmd/ringd/internal/store", "profiles"},
	"cmd/ringd/internal/daemon/view": {
		"cmd/ringd/internal/store", "executors", "profiles", "profiles/powers", "rings/interpreter/contract",
		"rings/interpreter/ruleoftwo", "rings/interpreter/run", "schema", "schema/wire",
	},
	"cmd/ringd/internal/daemon/waiting": {
		"cmd/ringd/internal/audit", "cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/daemon/rowmac",
		"cmd/ringd/internal/daemon/view", "cmd/ringd/internal/seal", "cmd/ringd/internal/store", "executors",
		"profiles", "profiles/canonjson", "profiles/egress", "profiles/powers", "rings/interpreter/binding",
		"rings/interpreter/contract", "rings/interpreter/pause", "rings/interpreter/ruleoftwo", "schema/wire",
	},
	"cmd/ringd/internal/keypem": {},
	"cmd/ringd/internal/notify": {
		"cmd/ringd/internal/bridges", "cmd/ringd/internal/daemon/metrics", "cmd/ringd/internal/store",
	},
	"cmd/ringd/internal/safetext": {},
	"cmd/ringd/internal/seal":     {"cmd/ringd/internal/atomicfile"},
	"cmd/ringd/internal/store":    {"cmd/ringd/internal/atomicfile"},
	"cmd/ringd/internal/syncer":   {"schema"},
	"cmd/ringd/internal/trust": {
		"cmd/ringd/internal/atomicfile", "cmd/ringd/internal/keypem", "profiles", "profiles/canonjson", "schema",
	},
	"cmd/ringd/internal/worker": {
		"compiler", "compiler/condition", "compiler/guardrail", "compiler/headroom", "compiler/layers",
		"compiler/lint", "executors/shell/shellproto", "profiles", "schema",
	},
	"compiler": {
		"compiler/condition", "compiler/guardrail", "compiler/known", "compiler/layers", "profiles",
		"profiles/canonjson", "profiles/egress", "profiles/fields", "profiles/paths", "profiles/powers",
		"profiles/spelling", "schema",
	},
	"compiler/condition":   {"compiler/rego", "profiles", "profiles/canonjson"},
	"compiler/enforcement": {"profiles", "profiles/fields"},
	"compiler/guardrail":   {"compiler/rego", "profiles", "profiles/canonjson", "profiles/spelling", "schema"},
	"compiler/headroom": {
		"compiler/layers", "profiles", "profiles/canonjson", "profiles/diff", "profiles/egress", "profiles/fields",
		"profiles/modules", "profiles/paths", "schema",
	},
	"compiler/known": {
		"profiles", "profiles/argv", "profiles/canonjson", "profiles/modules", "profiles/paths", "profiles/spelling",
	},
	"compiler/layers": {
		"profiles", "profiles/argv", "profiles/canonjson", "profiles/command", "profiles/egress", "profiles/fields", "profiles/modules",
		"profiles/paths", "profiles/spelling", "schema",
	},
	"compiler/lint": {
		"compiler/known", "compiler/layers", "profiles", "profiles/egress", "profiles/modules", "schema",
	},
	"compiler/policytest":     {"profiles", "profiles/spelling", "schema"},
	"compiler/rego":           {},
	"executors":               {"profiles"},
	"executors/executorstest": {"executors", "profiles"},
	"executors/guestside":     {},
	"executors/js":            {"executors", "executors/js/jsproto", "executors/pool", "profiles"},
	"executors/js/engine": {
		"executors/js/engine/snapshot", "executors/js/engine/value", "executors/wasmcache", "profiles",
	},
	"executors/js/engine/snapshot": {},
	"executors/js/engine/value":    {},
	"executors/js/jsguest": {
		"executors", "executors/guestside", "executors/js/engine", "executors/js/jsproto", "profiles",
		"profiles/canonjson", "profiles/spelling",
	},
	"executors/js/jsproto": {"executors", "profiles"},
	"executors/pool":       {"executors", "executors/wasmcache", "profiles"},
	"executors/python": {
		"executors", "executors/pool", "executors/python/pyguest", "executors/python/pyproto", "profiles",
	},
	"executors/python/environment": {
		"executors", "executors/python/pyproto", "profiles", "profiles/modules", "profiles/paths",
	},
	"executors/python/pyguest": {},
	"executors/python/pyproto": {"executors", "profiles", "profiles/egress", "profiles/modules"},
	"executors/python/wasm": {
		"executors", "executors/pool", "executors/python/pyproto", "executors/python/wasm/place",
		"executors/python/wasm/wasmproto", "profiles",
	},
	"executors/python/wasm/place": {},
	"executors/python/wasm/wasmguest": {
		"executors", "executors/guestside", "executors/python/pyguest", "executors/python/pyproto",
		"executors/python/wasm/place", "executors/python/wasm/wasmproto", "executors/wasmcache", "profiles",
	},
	"executors/python/wasm/wasmproto": {"executors", "executors/python/pyproto"},
	"executors/shell":                 {"executors", "executors/pool", "executors/shell/shellproto", "profiles"},
	"executors/shell/bashcompat":      {"executors/shell/script"},
	"executors/shell/dryrun": {
		"executors/shell/preflight", "executors/shell/runner", "executors/shell/script", "profiles", "profiles/argv",
		"profiles/command",
	},
	"executors/shell/preflight": {
		"executors/shell/script", "profiles", "profiles/argv", "profiles/command", "profiles/command/programs",
	},
	"executors/shell/runner": {
		"executors/shell/bashcompat", "executors/shell/script", "profiles", "profiles/argv", "profiles/command",
	},
	"executors/shell/script": {"profiles", "profiles/argv"},
	"executors/shell/shellguest": {
		"executors", "executors/guestside", "executors/shell/preflight", "executors/shell/runner",
		"executors/shell/script", "executors/shell/shellproto", "profiles", "profiles/argv", "profiles/canonjson",
	},
	"executors/shell/shellproto": {"executors", "profiles"},
	"executors/wasmcache":        {},
	"profiles": {
		"profiles/argv", "profiles/canonjson", "profiles/command", "profiles/egress", "profiles/egress/clienthello",
		"profiles/modules", "profiles/paths", "profiles/spelling",
	},
	"profiles/argv":      {"profiles/tables"},
	"profiles/canonjson": {},
	"profiles/command": {
		"profiles/argv", "profiles/canonjson", "profiles/command/programs", "profiles/paths", "profiles/tables",
	},
	"profiles/command/programs": {"profiles/argv", "profiles/tables"},
	"profiles/diff": {
		"profiles", "profiles/canonjson", "profiles/egress", "profiles/fields", "profiles/modules", "profiles/paths",
		"profiles/powers",
	},
	"profiles/egress":             {"profiles/egress/clienthello", "profiles/egress/httphead", "profiles/egress/socks"},
	"profiles/egress/clienthello": {},
	"profiles/egress/dnsmsg":      {},
	"profiles/egress/httphead":    {},
	"profiles/egress/socks":       {},
	"profiles/fields":             {"profiles/tables"},
	"profiles/modules":            {},
	"profiles/paths":              {},
	"profiles/powers":             {"profiles"},
	"profiles/spelling":           {},
	"profiles/tables":             {},
	"rings/interpreter": {
		"executors", "profiles", "rings/interpreter/binding", "rings/interpreter/budget",
		"rings/interpreter/contract", "rings/interpreter/jsonvalue", "rings/interpreter/pause",
		"rings/interpreter/run",
	},
	"rings/interpreter/binding": {
		"profiles", "profiles/argv", "profiles/canonjson", "profiles/egress", "profiles/powers", "profiles/spelling",
		"rings/interpreter/budget", "rings/interpreter/jsonvalue", "rings/interpreter/pause",
		"rings/interpreter/ruleoftwo",
	},
	"rings/interpreter/budget": {"profiles", "rings/interpreter/jsonvalue"},
	"rings/interpreter/contract": {
		"executors", "profiles", "rings/interpreter/pause", "rings/interpreter/ruleoftwo",
	},
	"rings/interpreter/jsonvalue": {"profiles/canonjson"},
	"rings/interpreter/pause": {
		"executors", "profiles", "profiles/canonjson", "rings/interpreter/budget", "rings/interpreter/ruleoftwo",
	},
	"rings/interpreter/ruleoftwo": {"profiles", "profiles/powers"},
	"rings/interpreter/run": {
		"executors", "profiles", "profiles/powers", "rings/interpreter/binding", "rings/interpreter/budget",
		"rings/interpreter/contract", "rings/interpreter/jsonvalue", "rings/interpreter/pause",
		"rings/interpreter/ruleoftwo",
	},
	"rings/kernel": {
		"executors", "profiles", "rings/kernel/cgroup", "rings/kernel/hostcheck", "rings/kernel/initimage",
		"rings/kernel/initproto", "rings/kernel/procfs", "rings/kernel/proxy", "rings/kernel/rootfs",
		"rings/kernel/seccomp", "rings/kernel/spawn", "rings/kernel/violations",
	},
	"rings/kernel/cgroup":    {},
	"rings/kernel/guestinit": {"rings/kernel/initproto", "rings/kernel/procfs"},
	"rings/kernel/hostcheck": {"rings/kernel/initproto"},
	"rings/kernel/init":      {"rings/kernel/guestinit"},
	"rings/kernel/initimage": {},
	"rings/kernel/initproto": {},
	"rings/kernel/listener":  {},
	"rings/kernel/pace":      {},
	"rings/kernel/procfs":    {"rings/kernel/initproto"},
	"rings/kernel/proxy": {
		"profiles", "profiles/egress", "profiles/egress/clienthello", "profiles/egress/dnsmsg",
		"profiles/egress/httphead", "profiles/egress/socks", "rings/kernel/listener", "rings/kernel/pace",
		"rings/kernel/proxy/httpproxy",
	},
	"rings/kernel/proxy/httpproxy": {"profiles", "profiles/egress", "profiles/egress/httphead"},
	"rings/kernel/proxy/proxytest": {"rings/kernel/guestinit"},
	"rings/kernel/rootfs":          {"profiles", "profiles/canonjson", "profiles/paths", "rings/kernel/initproto"},
	"rings/kernel/seccomp":         {"rings/kernel/initproto"},
	"rings/kernel/spawn":           {"rings/kernel/initproto"},
	"rings/kernel/violations":      {"profiles/canonjson", "rings/kernel/initproto"},
	"schema":                       {"profiles/canonjson", "profiles/spelling"},
	"schema/client":                {"profiles", "schema/wire"},
	"schema/convert":               {"schema"},
	"schema/format":                {"schema"},
	"schema/wire":                  {"profiles"},
	"cmd/ringd":                    {"..."},
}

// owners says which packages, or single files, may import a dependency; a path
// covers the paths below it. What is not listed and not in the standard library fails.
var owners = map[string][]string{
	"cuelang.org/go":                        {"schema"},
	"github.com/tetratelabs/wazero":         {"executors/js/engine", "executors/python/wasm/wasmguest"},
	"github.com/klauspost/compress":         {"executors/js/engine/snapshot"},
	"github.com/evanw/esbuild":              {"executors/js/jsguest"},
	"github.com/gowebpki/jcs":               {"profiles"},
	"github.com/santhosh-tekuri/jsonschema": {"schema", "compiler", "rings/interpreter"},
	"github.com/fsnotify/fsnotify":          {"cmd/ringd/internal/syncer"},
	"modernc.org/sqlite":                    {"cmd/ringd/internal/store"},
	"github.com/prometheus/client_golang":   {"cmd/ringd/internal/api", "cmd/ringd/internal/daemon"},
	"github.com/spf13/cobra":                {"cmd/ringd"},
	"github.com/spf13/pflag":                {"cmd/ringd/internal/cli"},
	"github.com/coreos/go-systemd":          {"cmd/ringd/systemd.go"},
	"github.com/mattn/go-isatty":            {"cmd/ringd/internal/cli"},
	"github.com/goccy/go-yaml":              {"cmd/ringd/internal/config"},
	"github.com/go-sourcemap/sourcemap":     {"executors/js/jsguest"},
	"github.com/rogpeppe/go-internal":       {"cmd/ringd/internal/commands"},
	"github.com/google/go-cmp":              {"executors/executorstest"},
	"github.com/secure-systems-lab":         {"cmd/ringd/internal/trust"},
	"github.com/standard-webhooks":          {"cmd/ringd/internal/notify"},
	"go.yaml.in/yaml/v3":                    {"schema"},
	"github.com/pelletier/go-toml":          {"schema/convert"},
	"golang.org/x/net/dns/dnsmessage":       {"profiles/egress/dnsmsg"},
	"golang.org/x/crypto":                   {"cmd/ringd/internal/seal"},
	"golang.org/x/net/publicsuffix":         {"compiler"},
	"golang.org/x/net/idna":                 {"profiles/egress"},
	"code.dny.dev/ssrf":                     {"profiles/egress"},
	"github.com/nlnwa/whatwg-url":           {"profiles/egress"},
	"golang.org/x/time":                     {"cmd/ringd/internal/api", "rings/kernel/pace"},
	"golang.org/x/sys":                      {"rings/kernel", "executors/guestside", "executors/js/engine", "executors/shell/shellguest", "cmd"},
	"github.com/landlock-lsm/go-landlock":   {"rings/kernel"},
	"mvdan.cc/sh":                           {"executors/shell"},
	"github.com/open-policy-agent/opa":      {"compiler"},
	"os/exec":                               {"rings/kernel", "cmd", "executors/shell/shellguest"},
	"net":                                   {"rings/kernel", "cmd", "schema/client"},
	"unsafe":                                {"executors/js/engine/memory_linux.go", "rings/kernel/guestinit/raw_linux.go", "executors/guestside/filter_linux.go", "cmd/ringd/internal/api/peer_linux.go", "cmd/ringd/internal/config/secret_windows.go", "rings/kernel/violations/notif_linux.go"},
	"plugin":                                {},
	"net/netip":                             {"profiles", "compiler", "schema", "rings/kernel", "cmd"},
	"net/url":                               {"profiles", "compiler", "schema", "rings/kernel", "cmd"},
}

// pure lists packages that know no file, network, clock or chance.
var pure = []string{
	"schema/format",
	"compiler/lint",
	"compiler/policytest",
	"compiler",
	"compiler/layers",
	"compiler/condition",
	"compiler/headroom",
	"compiler/known",
	"schema",
	"executors/js/engine/snapshot",
	"executors/js/engine/value",
	"executors/python/pyproto",
	"executors/shell/bashcompat",
	"executors/shell/preflight",
	"executors/shell/script",
	"profiles",
	"profiles/command",
	"profiles/diff",
	"profiles/egress",
	"profiles/egress/httphead",
	"profiles/egress/clienthello",
	"profiles/egress/dnsmsg",
	"profiles/egress/socks",
	"profiles/canonjson",
	"profiles/command/programs",
	"profiles/modules",
	"profiles/paths",
	"profiles/powers",
	"profiles/argv",
	"profiles/tables",
	"schema/convert",
}

// impure is what a pure package may not import.
var impure = []string{"os", "net", "net/http", "io/ioutil", "math/rand", "crypto/rand", "syscall", "os/exec", "log",
	"log/slog"}

// guestHalf lists packages that run inside a guest. They may not reach rings
// or cmd, not even through another package.
var guestHalf = []string{"executors/guestside", "executors/python/wasm/wasmguest", "executors/js/jsguest",
	"executors/js/engine", "executors/shell/shellguest"}

// calls says where a call that hides a dependency is allowed: a package, a
// file, or a path with /... for everything below it.
var calls = map[string][]string{
	"panic":              {},
	"init":               {},
	"go":                 {"cmd/ringd/internal/worker/limits.go", "cmd/ringd/internal/daemon", "cmd/ringd/internal/syncer", "cmd/ringd/internal/api", "cmd/ringd/internal/audit", "cmd/ringd/internal/store", "rings/kernel/proxy", "rings/kernel/proxy/proxytest", "rings/kernel/guestinit"},
	"context.Background": {"cmd/ringd", "rings/kernel/proxy"}, // what serves guests has no caller
	"context.TODO":       {},
	"time.Now":           {"cmd/ringd"},
	"time.Since":         {"cmd/ringd"},
	"time.Until":         {"cmd/ringd"},
	"os.Getenv":          {"cmd/ringd/internal/config", "rings/kernel/proxy/proxytest"},
	"os.LookupEnv":       {"cmd/ringd/internal/config"},
	"os.Environ":         {"cmd/ringd/internal/config", "rings/kernel/proxy/proxytest"},
	"os.Exit":            {"cmd/ringd/main.go", "rings/kernel/init"},
	"log.Fatal":          {},
	"log.Fatalf":         {},
	"log.Fatalln":        {},
	"BestEffort":         {},
	"recover":            {"cmd/ringd/internal/daemon", "cmd/ringd/internal/api", "cmd/ringd/internal/worker", "executors/js/engine", "executors/js/jsguest"},
}

// sinks says where cmd may reach a stream that people read, past the edge that makes its
// text inert (cmd/ringd/internal/safetext): a package or a file. A row is a selector, an
// import, a method (".SetOut") or the begin of a path ("/dev/tty").
var sinks = map[string][]string{
	"os.Stdout":     {"cmd/ringd/main.go"},
	"os.Stderr":     {"cmd/ringd/main.go"},
	"os.NewFile":    {},
	"/dev/tty":      {"cmd/ringd/internal/cli/ask.go"},
	"/dev/std":      {},
	"/dev/fd":       {},
	"/dev/pts":      {},
	"/dev/console":  {},
	"/proc/self/fd": {},

	"syscall.Write":                {},
	"syscall.Stdout":               {},
	"syscall.Stderr":               {},
	"syscall.Syscall":              {},
	"syscall.RawSyscall":           {},
	"golang.org/x/sys/unix.Write":  {},
	"golang.org/x/sys/unix.Writev": {},
	"golang.org/x/sys/unix.Stdout": {},
	"golang.org/x/sys/unix.Stderr": {},

	"fmt.Print":                       {},
	"fmt.Printf":                      {},
	"fmt.Println":                     {},
	"print":                           {},
	"println":                         {},
	"log":                             {},
	"log/slog.Default":                {},
	"log/slog.Debug":                  {},
	"log/slog.Info":                   {},
	"log/slog.Warn":                   {},
	"log/slog.Error":                  {},
	"log/slog.Log":                    {},
	"log/slog.LogAttrs":               {},
	"log/slog.NewJSONHandler":         {},
	"log/slog.NewTextHandler":         {"cmd/ringd/cmd_serve.go", "cmd/ringd/internal/daemon/daemontest"},
	"runtime/debug.PrintStack":        {},
	"github.com/spf13/cobra.CheckErr": {},
	".SetOut":                         {"cmd/ringd/main.go"},
	".SetErr":                         {"cmd/ringd/main.go"},
	".SetOutput":                      {},
	"net/http.ResponseWriter":         {"cmd/ringd/internal/api/server.go", "cmd/ringd/internal/api/bearer.go"},
	".ResponseWriter":                 {"cmd/ringd/internal/api/server.go", "cmd/ringd/internal/api/bearer.go"},
	".Hijack":                         {"cmd/ringd/internal/api/server.go"},
	module + "/cmd/ringd/internal/safetext.NewEdge": {"cmd/ringd/internal/cli/ask.go", "cmd/ringd/internal/cli/cli.go",
		"cmd/ringd/internal/api/server.go"},
	module + "/cmd/ringd/internal/safetext.Bytes": { // what a program reads, to the byte
		"cmd/ringd/internal/commands/import.go", "cmd/ringd/internal/commands/compile.go", "cmd/ringd/internal/commands/fmt.go", "cmd/ringd/internal/cli/run.go",
	},
}

// mostLines is what a function may have, tests apart. Neither a file nor a package nor an
// interface has a cap: a cap is paid for in names and walls.
const mostLines = 80

// skipped names folders that hold no code of this module.
var skipped = []string{"testdata", "node_modules", "docs", ".git", ".cache", "bin"}

func repository(t *testing.T) tree {
	t.Helper()
	return parseTree(t, sourceFiles(t, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }))
}

// goFiles reads the Go files below root whose name is wanted, by their path from there.
func goFiles(root string, wanted func(name string) bool) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != root && (slices.Contains(skipped, name) || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || !wanted(name) {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	return files, err
}

func report(t *testing.T, got []string) {
	t.Helper()
	for _, v := range got {
		t.Error(v)
	}
}

func TestLayers(t *testing.T) {
	tr := repository(t)
	report(t, checkLayers(tr, layers))
	report(t, checkReach(tr, guestHalf, []string{"rings", "cmd"}))
}

func TestOwners(t *testing.T) {
	tr := repository(t)
	report(t, checkOwners(tr, owners))
	report(t, checkPure(tr, pure, impure))
}

func TestCalls(t *testing.T) {
	tr := repository(t)
	report(t, checkCalls(tr, calls))
	report(t, checkContexts(tr))
	report(t, checkSinks(tr, "cmd", sinks))
}

func TestSizes(t *testing.T) { report(t, checkSizes(repository(t), mostLines)) }

// TestRowsName keeps the table from naming packages that went away.
func TestRowsName(t *testing.T) {
	tr := repository(t)
	for pkg := range layers {
		if _, ok := tr.pkgs[pkg]; !ok {
			t.Errorf("layers: %s: no such package", pkg)
		}
	}
	// A row for a package that has moved would guard nothing.
	for row, may := range sinks {
		if p, ok := local(row); ok {
			pkg, name, _ := strings.Cut(p, ".")
			if files := tr.pkgs[pkg]; !slices.ContainsFunc(files,
				func(s source) bool { return slices.Contains(declared(s.file), name) }) {
				t.Errorf("sinks: %s: no such function", row)
			}
		}
		there(t, tr, "sinks", row, may)
	}
	for row, may := range calls {
		there(t, tr, "calls", row, may)
	}
	for row, may := range owners {
		there(t, tr, "owners", row, may)
	}
	there(t, tr, "pure", "", pure)
}

// there refuses names of packages and files that do not exist. A name may be a folder
// of packages.
func there(t *testing.T, tr tree, table, row string, names []string) {
	t.Helper()
	for _, name := range names {
		found := false
		tr.each(func(pkg string, s source) { found = found || below(pkg, name) || s.name == name })
		if !found {
			t.Errorf("%s: %s: %s is no package or file", table, row, name)
		}
	}
}

// The tables are only worth something if they catch a breach: each fixture
// breaks one rule and must be found by exactly one line.
func TestTablesCatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		check func(tree) []string
		want  string // "" means nothing is found
	}{
		{"unlisted package", map[string]string{"helpers/a.go": "package helpers"}, withLayers, "helpers/: not in the layers table"},
		{"pure imports a ring", map[string]string{"profiles/a.go": `package profiles; import _ "github.com/ringd/ringd/rings/kernel"`}, withLayers, "profiles/a.go:1: imports rings/kernel"},
		{"executor imports policy", map[string]string{"executors/js/a.go": `package js; import _ "github.com/ringd/ringd/schema"`}, withLayers, "executors/js/a.go:1: imports schema"},
		{"ring imports ring", map[string]string{"rings/kernel/a.go": `package kernel; import _ "github.com/ringd/ringd/rings/interpreter"`}, withLayers, "rings/kernel/a.go:1: imports rings/interpreter"},
		{"allowed import", map[string]string{"compiler/a.go": `package compiler; import _ "github.com/ringd/ringd/schema"`}, withLayers, ""},
		{"guest reaches cmd through another", map[string]string{
			"executors/js/jsguest/a.go": `package guest; import _ "github.com/ringd/ringd/executors/js/engine"`,
			"executors/js/engine/a.go":  `package engine; import _ "github.com/ringd/ringd/rings/kernel"`,
			"rings/kernel/a.go":         "package kernel",
		}, func(tr tree) []string {
			return checkReach(tr, []string{"executors/js/jsguest"}, []string{"rings", "cmd"})
		},
			"executors/js/jsguest: reaches rings/kernel"},
		{"wazero outside its owner", map[string]string{"profiles/a.go": `package profiles; import _ "github.com/tetratelabs/wazero"`}, withOwners, "profiles/a.go:1: github.com/tetratelabs/wazero belongs to"},
		{"wazero subpackage outside its owner", map[string]string{"cmd/ringd/a.go": `package main; import _ "github.com/tetratelabs/wazero/api"`}, withOwners, "belongs to"},
		{"exec in an executor", map[string]string{"executors/js/a.go": `package js; import _ "os/exec"`}, withOwners, "executors/js/a.go:1: os/exec belongs to"},
		{"net in compiler", map[string]string{"compiler/a.go": `package compiler; import _ "net/http"`}, withOwners, "compiler/a.go:1: net/http belongs to"},
		{"unsafe in another file of its owner", map[string]string{"executors/js/engine/a.go": `package engine; import _ "unsafe"`}, withOwners, "unsafe belongs to executors/js/engine/memory_linux.go"},
		{"nobody owns plugin", map[string]string{"profiles/a.go": `package profiles; import _ "plugin"`}, withOwners, "plugin belongs to nobody"},
		{"unknown dependency", map[string]string{"profiles/a.go": `package profiles; import _ "example.com/left-pad"`}, withOwners, "example.com/left-pad is not in the owners table"},
		{"owner", map[string]string{"schema/a.go": `package schema; import _ "cuelang.org/go/cue"`}, withOwners, ""},
		{"pure reads files", map[string]string{"schema/a.go": `package schema; import _ "os"`}, withPure, "schema/a.go:1: a pure package imports os"},
		{"panic", map[string]string{"schema/a.go": "package schema\nfunc f() { panic(1) }"}, withCalls, "schema/a.go:2: panic"},
		{"init", map[string]string{"schema/a.go": "package schema\nfunc init() {}"}, withCalls, "schema/a.go:2: init"},
		{"a method named init", map[string]string{"schema/a.go": "package schema\ntype t int\nfunc (t) init() {}"}, withCalls, ""},
		{"go statement", map[string]string{"rings/interpreter/a.go": "package interpreter\nfunc f() { go f() }"}, withCalls, "rings/interpreter/a.go:2: go"},
		{"go statement in the daemon", map[string]string{"cmd/ringd/internal/daemon/a.go": "package daemon\nfunc f() { go f() }"}, withCalls, ""},
		{"a context by hand", map[string]string{"rings/kernel/a.go": "package kernel\nimport \"time\"\ntype c struct{}\nfunc (c) Deadline() (t time.Time, ok bool) { return }\nfunc (c) Done() <-chan struct{} { return nil }\nfunc (*c) Err() error { return nil }\nfunc (c) Value(any) any { return nil }"},
			checkContexts, "rings/kernel/a.go:7: c is a context made by hand"},
		{"three methods of a context", map[string]string{"rings/kernel/a.go": "package kernel\ntype c struct{}\nfunc (c) Done() <-chan struct{} { return nil }\nfunc (c) Err() error { return nil }\nfunc (c) Value(any) any { return nil }"}, checkContexts, ""},
		{"background", map[string]string{"rings/kernel/a.go": "package kernel\nimport \"context\"\nvar c = context.Background()"}, withCalls, "rings/kernel/a.go:3: context.Background"},
		{"background under another name", map[string]string{"rings/kernel/a.go": "package kernel\nimport x \"context\"\nvar c = x.Background()"}, withCalls, "rings/kernel/a.go:3: context.Background"},
		{"clock as a value", map[string]string{"profiles/a.go": "package profiles\nimport \"time\"\nvar now = time.Now"}, withCalls, "profiles/a.go:3: time.Now"},
		{"environment", map[string]string{"rings/kernel/a.go": "package kernel\nimport \"os\"\nvar e = os.Getenv(\"HOME\")"}, withCalls, "rings/kernel/a.go:3: os.Getenv"},
		{"best effort", map[string]string{"rings/kernel/a.go": "package kernel\nvar c = landlock.V5.BestEffort()"}, withCalls, "rings/kernel/a.go:2: BestEffort"},
		{"dot import", map[string]string{"rings/kernel/a.go": "package kernel\nimport . \"time\"\nvar n = Now()"}, withCalls, "rings/kernel/a.go:2: dot import"},
		{"stdout past the edge", map[string]string{"cmd/ringd/a.go": "package main\nimport \"os\"\nvar w = os.Stdout"}, withSinks, "cmd/ringd/a.go:3: os.Stdout"},
		{"stderr under another name", map[string]string{"cmd/ringd/internal/commands/a.go": "package clients\nimport x \"os\"\nfunc f() { x.Stderr.WriteString(text) }"}, withSinks, "cmd/ringd/internal/commands/a.go:3: os.Stderr"},
		{"print", map[string]string{"cmd/ringd/a.go": "package main\nimport \"fmt\"\nfunc f() { fmt.Printf(text) }"}, withSinks, "cmd/ringd/a.go:3: fmt.Printf"},
		{"builtin print", map[string]string{"cmd/ringd/a.go": "package main\nfunc f() { println(text) }"}, withSinks, "cmd/ringd/a.go:2: println"},
		{"package log", map[string]string{"cmd/ringd/internal/daemon/a.go": "package daemon\nimport l \"log\"\nfunc f() { l.Print(text) }"}, withSinks, "cmd/ringd/internal/daemon/a.go:2: log"},
		{"log line of its own", map[string]string{"cmd/ringd/internal/daemon/a.go": "package daemon\nimport \"log/slog\"\nfunc f() { slog.Info(text) }"}, withSinks, "cmd/ringd/internal/daemon/a.go:3: log/slog.Info"},
		{"terminal by its path", map[string]string{"cmd/ringd/a.go": "package main\nimport \"os\"\nvar f, _ = os.Create(\"/dev/stdout\")"}, withSinks, "cmd/ringd/a.go:3: /dev/std"},
		{"stream of a command", map[string]string{"cmd/ringd/a.go": "package main\nfunc f() { cmd.SetOut(w) }"}, withSinks, "cmd/ringd/a.go:2: .SetOut"},
		{"answer past the edge", map[string]string{"cmd/ringd/internal/api/a.go": "package api\nfunc f(c *call) { c.w.ResponseWriter.Write(text) }"}, withSinks, "cmd/ringd/internal/api/a.go:2: .ResponseWriter"},
		{"handler of its own", map[string]string{"cmd/ringd/internal/api/a.go": "package api\nimport \"net/http\"\nfunc f(w http.ResponseWriter) { w.Write(text) }"}, withSinks, "cmd/ringd/internal/api/a.go:3: net/http.ResponseWriter"},
		{"bytes to a reader", map[string]string{"cmd/ringd/internal/commands/a.go": "package clients\nimport \"" + module + "/cmd/ringd/internal/safetext\"\nvar w = safetext.Bytes(out)"}, withSinks, "/safetext.Bytes"},
		{"the edge", map[string]string{"cmd/ringd/internal/commands/a.go": "package clients\nimport \"fmt\"\nfunc f() { fmt.Fprint(p.Out, text) }"}, withSinks, ""},
		{"stdout of a guest", map[string]string{"executors/shell/shellguest/a.go": "package guest\nimport \"os\"\nvar w = os.Stdout"}, withSinks, ""},
		{"long function", map[string]string{"schema/a.go": "package schema\nfunc f() {\n" + strings.Repeat("\n", 99) + "}\n"}, withSizes, "schema/a.go:2: schema.f has 101 lines"},
		{"long generated function", map[string]string{"schema/a.go": "// Code generated by a test. DO NOT EDIT.\npackage schema\nfunc f() {\n" + strings.Repeat("\n", 99) + "}\n"}, withSizes, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.check(parseTree(t, tt.files))
			if tt.want == "" {
				report(t, got)
				return
			}
			if len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("got %q, want one line with %q", got, tt.want)
			}
		})
	}
}

func withLayers(tr tree) []string { return checkLayers(tr, layers) }
func withOwners(tr tree) []string { return checkOwners(tr, owners) }
func withPure(tr tree) []string   { return checkPure(tr, pure, impure) }
func withCalls(tr tree) []string  { return checkCalls(tr, calls) }
func withSizes(tr tree) []string  { return checkSizes(tr, mostLines) }
func withSinks(tr tree) []string  { return checkSinks(tr, "cmd", sinks) }
