package kernel_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringd/ringd/executors"
)

// A borne attack comes with the files that an allowed program reads. In a lab,
// which has every program and no layer, it starts what it names; in a guest that
// lists the allowed programs it does not, and what was asked for works as far as it
// needs nothing else.
type borne struct {
	name   string
	files  map[string]string // in the repository, added to what is there
	setup  [][]string        // started there before, as the guest would
	attack []string
	input  string
	says   string // the guest's, of what was asked for
	code   int    // likewise
	quiet  bool   // what it wanted is looked for by name and not found, so no call is refused
}

const (
	repo = executors.Workspace + "/repo"
	mark = executors.Workspace + "/mark"
	evil = "touch " + mark
	hook = "#!/bin/sh\n" + evil + "\n"
)

func argv(words ...string) []string { return words }

// config is a row that stands in the repository's configuration.
func config(text string) map[string]string { return map[string]string{".git/config": text + "\n"} }

// driverOf configures a driver of a kind for every text file.
func driverOf(kind, text string) map[string]string {
	return map[string]string{".gitattributes": "*.txt " + kind + "=evil\n",
		".git/config": "[" + kind + " \"evil\"]\n" + text + "\n"}
}

// hooked is a row of a hook. Nothing in a workspace is executable, and git leaves out
// a hook that is not: what was asked for is done.
func hooked(name string, says string, code int, attack ...string) borne {
	return borne{name: "hook " + name, files: map[string]string{".git/hooks/" + name: hook}, attack: attack, says: says,
		code: code, quiet: code == 0}
}

func git() []borne {
	commit := argv("git", "commit", "-q", "--allow-empty", "-m", "more")
	change := map[string]string{"a.txt": "more\n"}
	with := func(files ...map[string]string) map[string]string {
		all := map[string]string{}
		for _, f := range files {
			for k, v := range f {
				all[k] += v
			}
		}
		return all
	}
	branches := [][]string{argv("git", "checkout", "-q", "-b", "b"), argv("git", "rm", "-q", "a.txt"), commit,
		argv("git", "checkout", "-q", "main")}
	return []borne{
		{name: "core.fsmonitor", files: config("[core]\nfsmonitor = \"" + evil + "; false\""), attack: argv("git", "status"), says: "On branch main"},
		{name: "include.path", files: with(config("[include]\npath = ../evil.cfg"), map[string]string{"evil.cfg": "[core]\nfsmonitor = \"" + evil + "; false\"\n"}), attack: argv("git", "status", "--short"), says: "?? evil.cfg"},
		{name: "includeIf", files: with(config("[includeIf \"onbranch:main\"]\npath = ../evil.cfg"), map[string]string{"evil.cfg": "[core]\nfsmonitor = \"" + evil + "; false\"\n"}), attack: argv("git", "diff", "--stat")},
		{name: "core.pager of grep", files: config("[core]\npager = \"" + evil + "; cat\""), attack: argv("git", "grep", "-O", "-E", "hel+o"), says: "cannot run", code: 255},
		{name: "core.hooksPath", files: with(config("[core]\nhooksPath = evil"), map[string]string{"evil/pre-commit": hook}), attack: commit, says: "ignored", quiet: true},
		{name: "core.sshCommand", files: config("[core]\nsshCommand = \"" + evil + "; false\""), attack: argv("git", "ls-remote", "git@host.test:x"), code: 128},
		{name: "core.gitProxy", files: with(config("[core]\ngitProxy = \""+repo+"/proxy\""), map[string]string{"proxy": hook}), attack: argv("git", "ls-remote", "git://host.test/x"), code: 128},
		{name: "core.editor", files: config("[core]\neditor = \"" + evil + "; false\""), attack: argv("git", "commit", "--allow-empty"), says: "editor", code: 1},
		{name: "core.askPass", files: with(config("[core]\naskPass = "+repo+"/ask"), map[string]string{"ask": hook}), attack: argv("git", "credential", "fill"), input: "protocol=https\nhost=host.test\n\n", code: 128},
		{name: "sequence.editor", files: config("[sequence]\neditor = \"" + evil + "; false\""), attack: argv("git", "rebase", "-q", "-i", "HEAD~1"), code: 1},
		{name: "diff textconv", files: with(driverOf("diff", "textconv = \""+evil+"; cat\""), change), attack: argv("git", "diff"), code: 128},
		{name: "diff driver", files: with(driverOf("diff", "command = \""+evil+"; true\""), change), attack: argv("git", "diff"), code: 128},
		{name: "diff.external", files: with(config("[diff]\nexternal = \""+evil+"; true\""), change), attack: argv("git", "diff"), code: 128},
		{name: "diff without it", files: with(driverOf("diff", "textconv = \""+evil+"; cat\""), change), attack: argv("git", "log", "-p", "-1", "--textconv"), code: 128},
		{name: "filter clean", files: with(driverOf("filter", "clean = \""+evil+"; cat\""), change), attack: argv("git", "add", "a.txt")},
		{name: "filter smudge", files: driverOf("filter", "smudge = \""+evil+"; cat\""), setup: [][]string{argv("python3", "-c", "import os; os.remove('a.txt')")}, attack: argv("git", "checkout", "--", "a.txt")},
		{name: "filter process", files: with(driverOf("filter", "process = \""+evil+"; cat\""), change), attack: argv("git", "add", "a.txt")},
		{name: "filter required", files: with(driverOf("filter", "required = true\nclean = \""+evil+"; cat\""), change), attack: argv("git", "add", "a.txt"), says: "failed", code: 128},
		{name: "merge driver", files: with(driverOf("merge", "driver = \""+evil+"; true %A\"")), setup: conflict(), attack: argv("git", "merge", "-q", "other"), says: "cannot run", code: 2},
		{name: "alias", files: config("[alias]\nst = \"!" + evil + "\""), attack: argv("git", "st"), says: "st", code: 128},
		{name: "gpg.program", files: with(config("[gpg]\nprogram = "+repo+"/gpg\n[user]\nsigningKey = x"), map[string]string{"gpg": hook}), attack: argv("git", "commit", "-q", "--allow-empty", "-S", "-m", "x"), says: "gpg", code: 128},
		{name: "commit.gpgSign", files: with(config("[gpg]\nprogram = "+repo+"/gpg\n[commit]\ngpgSign = true\n[user]\nsigningKey = x"), map[string]string{"gpg": hook}), attack: commit, says: "gpg", code: 128},
		{name: "credential.helper", files: config("[credential]\nhelper = \"!" + evil + "\""), attack: argv("git", "credential", "fill"), input: "protocol=https\nhost=host.test\n\n", code: 128},
		{name: "credential.helper by path", files: with(config("[credential]\nhelper = "+repo+"/cred"), map[string]string{"cred": hook}), attack: argv("git", "credential", "approve"), input: "protocol=https\nhost=host.test\nusername=u\npassword=p\n\n"},
		{name: "remote uploadpack", files: config("[remote \"origin\"]\nurl = " + repo + "\nuploadpack = \"" + evil + "; git-upload-pack\""), attack: argv("git", "fetch", "-q", "origin"), code: 128},
		{name: "remote receivepack", files: config("[remote \"origin\"]\nurl = " + repo + "\nreceivepack = \"" + evil + "; git-receive-pack\""), attack: argv("git", "push", "-q", "origin", "main:x"), code: 128},
		{name: "ext transport", files: config("[protocol \"ext\"]\nallow = always\n[remote \"origin\"]\nurl = \"ext::touch " + mark + "\""), attack: argv("git", "ls-remote", "origin"), code: 128, quiet: true},
		{name: "trailer command", files: config("[trailer \"t\"]\nkey = T\ncommand = \"" + evil + "\""), attack: argv("git", "interpret-trailers"), input: "subject\n\nbody\n", says: "subject"},
		{name: "archive filter", files: config("[tar \"evil\"]\ncommand = \"" + evil + "; cat\""), attack: argv("git", "archive", "--format=evil", "HEAD"), code: 128},
		{name: "template with a hook", files: with(config("[init]\ntemplateDir = "+repo+"/tpl"), map[string]string{"tpl/hooks/pre-commit": hook}), setup: [][]string{argv("git", "-c", "init.templateDir="+repo+"/tpl", "init", "-q", "new")}, attack: argv("git", "-C", "new", "commit", "-q", "--allow-empty", "-m", "x"), quiet: true},
		{name: "submodule update", files: map[string]string{".gitmodules": "[submodule \"sub\"]\npath = sub\nurl = " + repo + "\n", ".git/config": "[submodule \"sub\"]\nurl = " + repo + "\nactive = true\nupdate = \"!" + evil + ";:\"\n"},
			setup: [][]string{argv("git", "init", "-q", "sub"),
				argv("git", "-C", "sub", "commit", "-q", "--allow-empty", "-m", "s"),
				argv("git", "add", "sub", ".gitmodules"), argv("git", "commit", "-q", "-m", "sub"),
				argv("git", "-C", "sub", "commit", "-q", "--allow-empty", "-m", "s")},
			attack: argv("git", "submodule", "--quiet", "update", "--no-fetch"), code: 1, quiet: true},
		{name: "bisect run", setup: [][]string{commit, commit, argv("git", "bisect", "start", "HEAD", "HEAD~2")}, attack: argv("git", "bisect", "run", "touch", mark), code: 1, quiet: true},
		{name: "difftool", files: with(config("[diff]\ntool = evil\n[difftool \"evil\"]\ncmd = \""+evil+"\""), change), attack: argv("git", "difftool", "-y"), code: 128, quiet: true},
		{name: "mergetool", files: config("[merge]\ntool = evil\n[mergetool \"evil\"]\ncmd = \"" + evil + "\""), setup: append(conflict(), argv("git", "merge", "-q", "other")), attack: argv("git", "mergetool", "-y"), code: 1, quiet: true},
		{name: "rebase exec", setup: [][]string{commit}, attack: argv("git", "rebase", "-q", "-x", evil, "HEAD~1"), code: 1},
		{name: "filter-branch", attack: argv("git", "filter-branch", "-f", "--tree-filter", evil, "HEAD"), code: 1, quiet: true},
		hooked("pre-commit", "ignored", 0, commit...),
		hooked("prepare-commit-msg", "ignored", 0, commit...),
		hooked("commit-msg", "ignored", 0, commit...),
		hooked("post-commit", "ignored", 0, commit...),
		hooked("reference-transaction", "ignored", 0, commit...),
		hooked("post-checkout", "ignored", 0, "git", "checkout", "-q", "-b", "c"),
		hooked("post-rewrite", "ignored", 0, "git", "commit", "-q", "--amend", "-m", "again"),
		hooked("pre-rebase", "ignored", 0, "git", "rebase", "-q", "--force-rebase", "HEAD~1"),
		hooked("pre-push", "", 128, "git", "push", "-q", repo, "main:x"),
		{name: "hook post-index-change", files: with(map[string]string{".git/hooks/post-index-change": hook}, change), attack: argv("git", "add", "a.txt"), quiet: true},
		{name: "hook post-merge", files: map[string]string{".git/hooks/post-merge": hook}, setup: branches, attack: argv("git", "merge", "-q", "b"), says: "ignored", quiet: true},
		{name: "hook pre-merge-commit", files: map[string]string{".git/hooks/pre-merge-commit": hook}, setup: branches, attack: argv("git", "merge", "-q", "--no-ff", "-m", "m", "b"), says: "ignored", quiet: true},
		{name: "hook applypatch-msg", files: map[string]string{".git/hooks/applypatch-msg": hook, "p.mbox": "From x Mon Sep 17 00:00:00 2001\nFrom: a <a@b>\nSubject: s\n\n---\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n--\n"}, attack: argv("git", "am", "-q", "p.mbox"), says: "ignored", quiet: true},
	}
}

// conflict makes two branches that differ in one line.
func conflict() [][]string {
	return [][]string{
		argv("git", "checkout", "-q", "-b", "other"), argv("python3", "-c", "open('a.txt','w').write('other')"),
		argv("git", "commit", "-q", "-am", "o"),
		argv("git", "checkout", "-q", "main"), argv("python3", "-c", "open('a.txt','w').write('mine')"),
		argv("git", "commit", "-q", "-am", "m"),
	}
}

// tools are programs that read files, or are told, what to start.
func tools() []borne {
	files := func(name, text string) map[string]string { return map[string]string{name: text} }
	python := func(name, text, says string, code int) borne {
		return borne{name: "python: " + name, files: files("x.py", "import os,sys\nsys.stdout.write('begun ')\n"+
			"sys.stdout.flush()\n"+text+"\n"), attack: argv("python3", "x.py"), says: says, code: code}
	}
	quiet := func(b borne) borne { b.quiet = true; return b }
	return []borne{
		{name: "tar checkpoint", attack: argv("tar", "cf", "x.tar", "--checkpoint=1", "--checkpoint-action=exec="+evil, "a.txt", ".git")},
		{name: "tar to-command", setup: [][]string{argv("tar", "cf", "x.tar", "a.txt")}, attack: argv("tar", "xf", "x.tar", "--to-command="+evil), code: 2},
		{name: "tar compressor", attack: argv("tar", "cf", "x.tar", "-I", "touch "+mark, "a.txt"), code: 2},
		{name: "awk system", files: files("x.awk", "BEGIN { system(\""+evil+"\"); print \"done\" }\n"), attack: argv("awk", "-f", "x.awk"), says: "done"},
		{name: "awk output pipe", files: files("x.awk", "BEGIN { print \"x\" | \""+evil+"\"; print \"done\" }\n"), attack: argv("awk", "-f", "x.awk"), code: -2},
		{name: "awk input pipe", files: files("x.awk", "BEGIN { \""+evil+"\" | getline; print \"done\" }\n"), attack: argv("awk", "-f", "x.awk"), says: "done", code: -2},
		{name: "sed e", files: files("x.sed", "1e "+evil+"\n"), attack: argv("sed", "-f", "x.sed", "a.txt"), says: "error in subprocess", code: 4},
		{name: "sed s///e", files: files("x.sed", "s@.*@"+evil+"@e\n"), attack: argv("sed", "-f", "x.sed", "a.txt"), code: -2},
		{name: "make recipe", files: files("Makefile", "all:\n\t@echo parsed >/dev/null; "+evil+"\n"), attack: argv("make"), code: 2, quiet: true},
		{name: "make $(shell)", files: files("Makefile", "X := $(shell "+evil+"; true)\n$(info parsed)\nall: ;\n"), attack: argv("make", "-n"), says: "parsed", quiet: true},
		{name: "make !=", files: files("Makefile", "X != "+evil+"; true\n$(info parsed)\nall: ;\n"), attack: argv("make"), says: "parsed", quiet: true},
		quiet(borne{name: "make without a shell", files: files("Makefile", "$(info parsed)\nall:\n\t@touch "+mark+"\n"),
			attack: argv("make"), says: "parsed", code: 2}),
		python("os.system", "os.system('"+evil+"')\nprint('done')", "done", 0),
		python("popen", "os.popen('"+evil+"').read()\nprint('done')", "begun", 1),
		quiet(python("subprocess", "import subprocess\nsubprocess.run(['touch','"+mark+"'])", "begun", 1)),
		python("a copy", "open('t','wb').write(open('/usr/bin/sort','rb').read())\nos.chmod('t',0o755)\n"+
			"os.execv('./t',['sort','-o','"+mark+"','/dev/null'])", "begun", 1),
		quiet(python("memory file", "fd=os.memfd_create('x')\nos.write(fd,open('/usr/bin/sort','rb').read())\n"+
			"os.execv('/proc/self/fd/%d'%fd,['sort','-o','"+mark+"','/dev/null'])", "begun", 1)),
		quiet(python("a loader", "os.execv('"+loader()+"',['ld.so','/usr/bin/touch','"+mark+"'])", "begun", 127)),
		quiet(python("a loader and a copy", "open('t','wb').write(open('/usr/bin/sort','rb').read())\n"+
			"os.chmod('t',0o755)\nos.execv('"+loader()+"',['ld.so','./t','-o','"+mark+"','/dev/null'])", "begun", 127)),
		{name: "python: tests", files: files("test_x.py", "import os,unittest\nos.system('"+evil+"')\nclass T(unittest.TestCase):\n  def test(self): pass\n"), attack: argv("python3", "-m", "unittest", "-q", "test_x"), says: "OK"},
		{name: "python: a module of the folder", files: files("json.py", "import os\nos.system('"+evil+"')\n"), attack: argv("python3", "-c", "import json; print('done')"), says: "done"},
		{name: "perl system", files: files("x.pl", "system('"+evil+"; true'); print \"done\\n\";\n"), attack: argv("perl", "x.pl"), says: "done"},
		{name: "perl qx", files: files("x.pl", "my $x = `"+evil+"; true`; print \"done\\n\";\n"), attack: argv("perl", "x.pl"), says: "done"},
		quiet(borne{name: "find exec", attack: argv("find", "a.txt", "-exec", "touch", mark, ";"), says: "touch"}),
		{name: "find exec of a shell", attack: argv("find", "a.txt", "-exec", "sh", "-c", evil, ";"), says: "sh"},
		quiet(borne{name: "find exec of a loader", attack: argv(
			"find", "a.txt", "-exec", loader(), "/usr/bin/touch", mark, ";"), says: "cannot open shared object"}),
		quiet(borne{name: "xargs", attack: argv("xargs", "touch"), input: mark, says: "touch", code: 127}),
		quiet(borne{name: "xargs of a loader", attack: argv("xargs", loader(), "/usr/bin/touch"), input: mark,
			says: "cannot open shared object", code: 123}),
		quiet(borne{name: "env", attack: argv("env", "touch", mark), says: "touch", code: 127}),
		quiet(borne{name: "env by path", attack: argv("env", "/usr/bin/touch", mark), says: "touch", code: 127}),
		{name: "split filter", attack: argv("split", "-l", "1", "--filter="+evil, "a.txt"), code: 1},
		{name: "sort compressor", files: files("evil", hook), attack: argv("sort", "-S", "16k", "--compress-program=./evil", "-T", ".", "big.txt"), setup: [][]string{argv("python3", "-c", "open('big.txt','w').write('x'*70+'\\n')\nf=open('big.txt','a')\nfor i in range(20000): f.write(str(i)*9+'\\n')")}, code: -2},
		{name: "sqlite3 shell", attack: argv("sqlite3", ":memory:", ".shell "+evil), code: -2},
		{name: "rg preprocessor", files: files("pre", hook), attack: argv("rg", "--pre", "./pre", "hello", "a.txt"), code: 2},
		quiet(borne{name: "tclsh exec", files: files("x.tcl", "puts begun\nexec touch "+mark+"\n"),
			attack: argv("tclsh", "x.tcl"), says: "begun", code: 1}),
	}
}

// node are scripts of packages, which need memory that becomes code.
func node() []borne {
	const npm = "/usr/lib/node_modules/npm/bin/npm-cli.js"
	pack := func(scripts string) map[string]string {
		return map[string]string{"package.json": `{"name": "x", "version": "1.0.0", "scripts": {` + scripts + `}}`}
	}
	also := func(files map[string]string, name, text string) map[string]string {
		files[name] = text
		return files
	}
	return []borne{
		{name: "npm script", files: pack(`"go": "` + evil + `"`), attack: argv("node", npm, "run", "go"), code: -2},
		{name: "npm script-shell", files: also(also(pack(`"go": "true"`), ".npmrc", "script-shell="+repo+"/evil\n"), "evil", hook), attack: argv("node", npm, "run", "go"), code: -2},
		{name: "node child_process", files: map[string]string{"x.js": "console.log('begun'); require('child_process').execSync('" + evil + "')\n"}, attack: argv("node", "x.js"), says: "begun", code: 1},
		{name: "node spawn", files: map[string]string{"x.js": "console.log('begun'); require('child_process').spawnSync('/bin/sh', ['-c', '" + evil + "'])\n"}, attack: argv("node", "x.js"), says: "begun"},
	}
}

// listed are the programs of the guest.
func listed(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, name := range []string{"git", "tar", "awk", "sed", "make", "python3", "perl", "find", "xargs", "env", "sort",
		"split", "sqlite3", "rg", "tclsh"} {
		if p := "/usr/bin/" + name; len(exists(p)) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// TestRepositoryBorne holds every row against a guest and against a lab.
func TestRepositoryBorne(t *testing.T) {
	if testing.Short() {
		t.Skip("not in a short run")
	}
	r, tried := recording(t)
	needKernel(t, r)
	programs := listed(t)
	for _, must := range []string{"/usr/bin/git", "/usr/bin/python3", "/usr/bin/awk"} {
		if !slices.Contains(programs, must) {
			t.Skip(must + " is not there")
		}
	}
	lab := inside(t, built(t, "lab")["lab"])
	tree := repository(t, lab)
	k := scripted(programs...)
	k.Helpers = granted("/usr/lib/git-core")
	for _, dir := range []string{"/usr/lib/python3.*", "/usr/share/perl/5*", "/usr/lib/*-linux-gnu/perl-base",
		"/usr/share/tcltk", "/usr/share/perl-base"} {
		found, _ := filepath.Glob(dir)
		for _, p := range found {
			k.Read = append(k.Read, granted(p)...)
		}
	}
	all := append(git(), tools()...)
	if len(all) < 40 {
		t.Errorf("%d rows", len(all))
	}
	code := k
	if code.Exec, code.JIT = granted("/usr/bin/node"), true; len(
		exists("/usr/bin/node", "/usr/lib/node_modules/npm")) == 2 {
		code.Read = append(granted(exists("/usr/lib/node_modules", "/usr/share/nodejs", "/etc/ssl/openssl.cnf")...),
			k.Read...)
		all = append(all, node()...)
	}
	for _, row := range all {
		t.Run(row.name, func(t *testing.T) {
			if p := "/usr/bin/" + row.attack[0]; len(exists(p)) == 0 {
				t.Skip(p + " is not there")
			}
			if e := row.run(t, lab, "/usr/bin", tree); !e.Mark {
				t.Errorf("in the lab nothing was started, so this row shows nothing: %+v", e)
			}
			tried.take()
			of := k
			if row.attack[0] == "node" {
				of = code
			}
			e := row.run(t, drive(t, r, of), executors.Programs, tree)
			if e.Mark {
				t.Errorf("it was started: %+v", e)
			}
			if row.code != -2 && e.Code != row.code || !strings.Contains(e.Out, row.says) {
				t.Errorf("exit %d, want %d, and %q: %s %s", e.Code, row.code, row.says, e.Out, e.Err)
			}
			if got := tried.take(); row.quiet != !strings.Contains(got, "exec: exec") {
				t.Errorf("on record: %q; %+v", got, e)
			}
		})
	}
}

// words are those of one start in a driver of which programs have a path.
func (d driven) words(t *testing.T, path string, dir string, s start, words []string) ended {
	t.Helper()
	s.Dir, s.Argv = dir, append([]string{"/usr/bin/" + words[0]}, words[1:]...)
	s.Env = []string{
		"PATH=" + path, "HOME=/tmp", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "FILTER_BRANCH_SQUELCH_WARNING=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "PYTHONDONTWRITEBYTECODE=1",
	}
	return d.run(t, s)
}

// repository makes one with two commits.
func repository(t *testing.T, d driven) map[string][]byte {
	t.Helper()
	do := func(s start, words ...string) ended {
		e := d.words(t, "/usr/bin", executors.Workspace, s, words)
		if e.Code != 0 {
			t.Fatalf("%q: %+v", words, e)
		}
		return e
	}
	first, second := start{Files: map[string]string{repo + "/first.txt": "1\n"}},
		start{Files: map[string]string{repo + "/a.txt": "hello\n"}}
	do(first, "git", "init", "-q", "-b", "main", "--template=", repo)
	do(start{}, "git", "-C", repo, "add", ".")
	do(start{}, "git", "-C", repo, "commit", "-q", "-m", "one")
	do(second, "git", "-C", repo, "add", ".")
	return do(start{Give: repo}, "git", "-C", repo, "commit", "-q", "-m", "two").Tree
}

// run tries a row in a repository.
func (b borne) run(t *testing.T, d driven, path string, tree map[string][]byte) ended {
	t.Helper()
	at := map[string]string{}
	for name, text := range b.files {
		at[filepath.Join(repo, name)] = text
	}
	if e := d.run(t, start{Tree: tree}); e.Err != "" {
		t.Fatal(e.Err)
	}
	if e := d.run(t, start{Files: at}); e.Err != "" {
		t.Fatal(e.Err)
	}
	for _, words := range b.setup {
		if e := d.words(t, path, repo, start{}, words); e.Code < 0 {
			t.Fatalf("%q: %+v", words, e)
		}
	}
	return d.words(t, path, repo, start{Look: mark, Input: b.input}, b.attack)
}

// inside starts the driver in a lab.
func inside(t *testing.T, lab string) driven {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, work := t.TempDir(), t.TempDir()
	binds := []bind{{self, self, false}, {work, executors.Workspace, true}}
	for _, p := range []string{"/usr/bin", "/usr/lib", "/usr/lib64", "/usr/share", "/usr/libexec", "/etc/ld.so.cache",
		"/etc/alternatives", "/dev/null", "/dev/zero", "/dev/urandom"} {
		if len(exists(p)) > 0 {
			binds = append(binds, bind{p, p, strings.HasPrefix(p, "/dev")})
		}
	}
	order, err := json.Marshal(map[string]any{
		"Token": token(t), "Dir": root, "Binds": binds, "Links": map[string]string{"/bin": "usr/bin", "/lib": "usr/lib", "/lib64": "usr/lib64", "/sbin": "usr/sbin"},
		"Argv": []string{self, roleDriver, "stdio"}, "Env": []string{"GOMAXPROCS=2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &exec.Cmd{Path: lab, Args: []string{"lab", string(order)}, Env: []string{}, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
			Setsid:     true, UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = c.Process.Kill(); _ = c.Wait() })
	return driven{nil, json.NewDecoder(out), json.NewEncoder(in)}
}
