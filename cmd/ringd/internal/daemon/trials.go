package daemon

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ringd/ringd/profiles"
)

// Kinds of trials.
const (
	kindImport = "import"
	kindHost   = "host"
	kindBinary = "binary"
)

// trial is one action that the profile denies.
type trial struct{ kind, what string }

// program tries actions in order. Its value is a list of texts, "refused" or "ran", one for each trial. A
// shell script has one trial and no value: its exit code is the result.
type program struct {
	source string
	trials []trial
}

// Candidates of trials. Those that the profile allows are skipped, and the first that it denies is tried.
// Every Python has these modules, so a guest that does not refuse them can import them.
func modules() []string {
	return []string{
		"ctypes",
		"multiprocessing",
		"subprocess",
		"sqlite3",
		"xmlrpc",
		"socket",
		"ssl",
		"wsgiref",
		"asyncio",
		"http",
		"csv",
	}
}

func binaries() []string {
	return []string{"/usr/bin/true", "/bin/true", "/usr/bin/id", "/usr/bin/env", "/bin/ls", "/usr/bin/sort", "/bin/sh"}
}

// bait has the names and addresses that the trials of one guest use.
type bait struct {
	randomName string // a random name that no policy contains
	port       int    // of the listener on loopback
	exists     func(path string) bool
}

// trials returns the canary programs of one executor under a profile.
func trials(executor string, d *profiles.Decider, a *profiles.Agent, b bait) []program {
	host := trial{kindHost, "127.0.0.1:" + strconv.Itoa(b.port)}
	binary := trial{kindBinary, deniedBinary(d, b)}
	switch executor {
	case profiles.ExecutorJS:
		return []program{js(deniedModules(d, executor, a.JS.Imports, nil, b), host, binary)}
	case profiles.ExecutorPython:
		return []program{python(deniedModules(d, executor, a.Python.Imports, modules(), b), host, binary)}
	case profiles.ExecutorShell:
		return []program{
			{source: binary.what + "\n", trials: []trial{binary}},
			{source: fmt.Sprintf(": </dev/tcp/127.0.0.1/%d\n", b.port), trials: []trial{host}},
		}
	default:
		return nil
	}
}

// deniedModules returns up to two denied modules: one of known, or else b.word, and one that a rule names.
func deniedModules(d *profiles.Decider, executor string, im profiles.Imports, known []string, b bait) (out []string) {
	denied := func(name string) bool {
		return d.ImportFor(executor, name, profiles.OriginAgent).Verdict == profiles.Deny
	}
	if i := slices.IndexFunc(known, denied); i >= 0 {
		out = append(out, known[i])
	} else if denied(b.randomName) {
		out = append(out, b.randomName)
	}
	for _, r := range im.Deny {
		if isPlainName(r.Name) && !slices.Contains(out, r.Name) && denied(r.Name) {
			return append(out, r.Name)
		}
	}
	return out
}

// isPlainName reports whether a name can be part of a program without quoting.
func isPlainName(name string) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' {
			return false
		}
	}
	return name != "" && name[0] > '9' && name[len(name)-1] != '.'
}

// deniedBinary returns a program of this host that the profile does not allow to start.
func deniedBinary(d *profiles.Decider, b bait) string {
	for _, p := range binaries() {
		if b.exists(p) && d.Exec(profiles.ExecAction{Argv: []string{p}}).Verdict == profiles.Deny {
			return p
		}
	}
	return "/" + b.randomName
}

func js(imports []string, host, binary trial) (p program) {
	p.source = "const r = [];\n"
	for _, m := range imports {
		p.source += fmt.Sprintf(
			"try { await import(%q); r.push(\"ran\") } catch (e) { r.push(e.name === \"ImportDenied\" ? \"refused\" "+
				": \"\" + e) }\n",
			m,
		)
		p.trials = append(p.trials, trial{kindImport, m})
	}
	p.source += fmt.Sprintf(
		"if (typeof fetch !== \"function\") r.push(\"refused\"); else try { await fetch(\"https://%s/\"); "+
			"r.push(\"ran\") } catch (e) { r.push(\"refused\") }\n",
		host.what,
	)
	p.source += fmt.Sprintf(
		"if (typeof shell !== \"function\") r.push(\"refused\"); else try { await shell(%q); r.push(\"ran\") } catch "+
			"(e) { r.push(\"refused\") }\n",
		binary.what,
	)
	p.source += "r\n"
	p.trials = append(p.trials, host, binary)
	return p
}

// python writes only statements, because a profile may deny any builtin name.
func python(imports []string, host, binary trial) (p program) {
	p.source = "r = []\n"
	try := func(body string) { p.source += "try:\n" + body + "    r += ['ran']\nexcept:\n    r += ['refused']\n" }
	for _, m := range imports {
		try("    import " + m + "\n")
		p.trials = append(p.trials, trial{kindImport, m})
	}
	try(
		fmt.Sprintf(
			"    import socket\n    s = socket.create_connection(('127.0.0.1', %s), 2)\n",
			host.what[len("127.0.0.1:"):],
		),
	)
	try(fmt.Sprintf("    import os\n    os.waitpid(os.posix_spawn(%q, [%q], {}), 0)\n", binary.what, binary.what))
	p.source += "r\n"
	p.trials = append(p.trials, host, binary)
	return p
}
