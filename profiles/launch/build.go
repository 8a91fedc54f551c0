package launch

import (
	"strings"

	"github.com/ringd/ringd/profiles/words"
)

// rowsBuild are git, what builds, and what installs.
func rowsBuild(name string) (row, bool) {
	switch name {
	case "git":
		return row{own: readGit}, true
	case "make", "gmake", "bmake", "nmake":
		return row{own: readMake, flags: runsFiles, opts: "-f,--file,--makefile=F -C,--directory= -I,--include-dir= -E,--eval=! -j,--jobs? -l,--load-average,--max-load? -o,--old-file,--assume-old= -W,--what-if,--new-file,--assume-new= -O,--output-sync? --debug? --shuffle? --jobserver-style= --jobserver-auth? -b -m -B,--always-make -d -e,--environment-overrides -i,--ignore-errors -k,--keep-going -L -n,--just-print,--dry-run,--recon -p,--print-data-base -q,--question -r,--no-builtin-rules -R -s,--silent,--quiet -S -t,--touch -v,--version~ -w,--print-directory -h,--help~ --no-print-directory --warn-undefined-variables"}, true
	case "ninja", "ninja-build", "samu", "just", "task", "rake", "ant", "gradle", "gradlew", "mvn", "mvnw", "sbt", "lein", "scons", "waf", "meson", "bazel", "bazelisk", "buck", "buck2", "pants", "tup", "redo", "jake", "gulp", "grunt", "invoke", "doit", "nox", "tox", "pre-commit", "lefthook", "husky", "turbo", "nx", "lerna", "tilt", "skaffold", "earthly", "dagger", "act", "drone", "autoreconf", "autoconf", "automake", "libtool", "dpkg-buildpackage", "debuild", "makepkg", "ebuild", "rustup", "nvm", "pyenv", "rbenv", "asdf", "mise", "rtx", "volta", "fnm", "sdk":
		return row{own: readBuilder, flags: runsFiles}, true
	case "cmake", "ctest", "cpack":
		return row{own: readCMake, flags: runsFiles}, true
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "cpp", "gfortran", "tcc", "icx":
		return row{own: readCompiler}, true
	case "npm", "pnpm", "yarn", "yarnpkg", "cnpm":
		return row{own: readNpm, flags: runsFiles}, true
	case "npx", "pnpx", "bunx":
		return row{own: readNpx, flags: runsFiles}, true
	case "go":
		return row{own: readGo, flags: runsFiles}, true
	case "cargo":
		return row{own: readCargo, flags: runsFiles}, true
	case "pip", "pip2", "pip3", "uv", "uvx", "pipx", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "bundle", "bundler", "gem", "composer", "cpan", "cpanm", "luarocks", "opam", "cabal", "dotnet", "flutter", "pub", "easy_install":
		return row{own: readPackages, flags: runsFiles}, true
	case "apt", "apt-get", "aptitude", "apt-cache", "apt-mark", "apt-key", "apt-config":
		return row{own: readApt, flags: runsFiles}, true
	case "dnf", "yum", "microdnf", "zypper", "pacman", "apk", "brew", "port", "emerge", "nix-env", "snapcraft", "xbps-install", "pkg":
		return row{own: readSystemPackages, flags: runsFiles}, true
	default:
		return row{}, false
	}
}

// readMake reads make: variables it sets for its recipes, and text of a makefile.
func readMake(r *reader) {
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.effect == "F":
			r.fromFile(it.value, "make")
		case it.name != "":
			r.apply(it)
		default:
			r.makeVariable(it.word)
		}
	}
}

func (r *reader) makeVariable(w words.Word) {
	name, value, ok := strings.Cut(w.Text, "=")
	if !ok {
		if w.Open {
			r.out.Maybe = r.out.Maybe || !w.Fed
		}
		return
	}
	if strings.HasSuffix(name, "!") {
		r.refuse("make runs the value of such a variable", w.Text)
		return
	}
	for _, f := range []string{"shell", "eval", "file", "guile", "call", "load", "foreach", "let"} {
		if strings.Contains(value, "$("+f) || strings.Contains(value, "${"+f) {
			r.refuse("make runs a function in the value", w.Text)
			return
		}
	}
	name = strings.TrimRight(name, ":+?")
	if name == ".SHELLFLAGS" || name == "SHELL" || name == "MAKE" || name == "MAKEFILES" || strings.Contains(name, "$") {
		r.refuse("by this variable make runs another program", name)
		return
	}
	if w.Open && !w.Fed && value == "" {
		r.out.Maybe = true // a function of make
	}
	r.out.Sets = append(r.out.Sets, words.Assignment{Name: name, Value: words.Word{Text: value, Open: w.Open, Fed: w.Fed}})
}

// readBuilder reads build tools that run what their files say: text on the command
// line is refused.
func readBuilder(r *reader) {
	for i, w := range r.args {
		switch t := w.Text; {
		case w.Open && t == "" && i == 0:
			r.out.Maybe = true
		case r.name == "just" && (t == "--shell" || t == "--command" || t == "-c" || t == "--chooser" || strings.HasPrefix(t, "--shell=") || strings.HasPrefix(t, "--choose") || t == "--edit" || t == "-e"),
			r.name == "rake" && (t == "-e" || t == "-E" || t == "-p" || strings.HasPrefix(t, "--execute")),
			(r.name == "sbt" || r.name == "lein") && strings.HasPrefix(t, "eval"),
			(r.name == "gradle" || r.name == "gradlew") && (t == "-I" || strings.HasPrefix(t, "--init-script")),
			strings.HasPrefix(r.name, "bazel") && (strings.HasPrefix(t, "--run_under") || strings.HasPrefix(t, "--workspace_status_command")),
			r.name == "asdf" && t == "exec", r.name == "mise" && (t == "exec" || t == "x"), r.name == "rtx" && (t == "exec" || t == "x"),
			(r.name == "pyenv" || r.name == "rbenv") && t == "exec", (r.name == "nvm" || r.name == "fnm" || r.name == "volta") && (t == "exec" || t == "run"), r.name == "rustup" && (t == "run" || strings.HasPrefix(t, "self")), r.name == "lerna" && t == "exec", r.name == "nx" && t == "exec":
			r.refuse("it runs what the command line says", t)
		}
	}
}

// readCMake reads cmake: -E env and -E time start a command.
func readCMake(r *reader) {
	for i, w := range r.args {
		switch t := w.Text; {
		case w.Open && t == "":
			r.out.Maybe = true
		case t == "-E" && i+1 < len(r.args):
			switch r.args[i+1].Text {
			case "env":
				r.start("cmake -E", r.args[i+1:])
			case "time":
				r.start("cmake -E time", r.args[i+2:])
			}
			return
		case strings.HasPrefix(t, "-DCMAKE_") && strings.Contains(t, "LAUNCHER"), strings.HasPrefix(t, "-DCMAKE_") && strings.Contains(t, "COMPILER") && !strings.Contains(t, "COMPILER_ID"), strings.HasPrefix(t, "-DCMAKE_MAKE_PROGRAM"), strings.HasPrefix(t, "--build-makeprogram"), strings.HasPrefix(t, "--test-command"), strings.HasPrefix(t, "--debugger"), t == "--open":
			_, value, _ := strings.Cut(t, "=")
			switch value {
			case "gcc", "g++", "clang", "clang++", "cc", "c++", "ccache", "ninja", "make":
				r.startWith("cmake", []words.Word{words.Known(value)}, nil, true)
			default:
				r.refuse("cmake starts the program that it names", t)
			}
		}
	}
}

// readCompiler reads C compilers: their passes can be replaced.
func readCompiler(r *reader) {
	for _, w := range r.args {
		t := w.Text
		switch {
		case w.Open && (t == "" || w.Many):
			r.out.Maybe = r.out.Maybe || !w.Fed
		case t == "-wrapper", strings.HasPrefix(t, "-fplugin="), strings.HasPrefix(t, "-specs="), strings.HasPrefix(t, "--specs="), t == "-specs", strings.HasPrefix(t, "-B"), strings.HasPrefix(t, "-fpass-plugin"), t == "-load", strings.HasPrefix(t, "-fuse-ld=/"), strings.HasPrefix(t, "--ld-path"), strings.HasPrefix(t, "-ccc-"), strings.HasPrefix(t, "--gcc-toolchain"), strings.HasPrefix(t, "@"), strings.HasPrefix(t, "--config"):
			r.refuse("it replaces a part of the compiler by another program", t)
		}
	}
}

// readNpm reads npm and its like: scripts of the project, programs of packages, and
// text for a shell.
func readNpm(r *reader) {
	r.row.flags |= exact
	r.row.opts = "--script-shell=! --shell=! --git=! --editor=! --viewer=! --browser? --node-options=! --init-module=! --onload-script=! --scripts-prepend-node-path= --node-gyp=! --python=! --script-shell-emulator -c,--call=s -C,--prefix,--dir,--cwd= -w,--workspace= -F,--filter= --registry= --userconfig=! --globalconfig=! --loglevel= --cache= --tag= --otp= --access= --omit= --include= -r -s,--silent -g,--global -D -E -O -P -v,--version,-h,--help~ --if-present --ignore-scripts --use-yarnrc=!"
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.name != "":
			r.apply(it)
			continue
		case r.lost || it.word.Open:
			r.out.Maybe = true
			return
		}
		switch it.word.Text {
		case "exec", "x", "dlx":
			readNpx(r)
		case "create", "init", "innit":
			if r.i < len(r.args) && !strings.HasPrefix(r.args[r.i].Text, "-") {
				r.start(r.name+" "+it.word.Text, append([]words.Word{{Text: "create-" + r.args[r.i].Text, Open: r.args[r.i].Open}}, r.args[r.i+1:]...))
			}
		case "config", "set", "c":
			r.npmConfig(it.word.Text)
		case "explore":
			for i := r.i; i < len(r.args); i++ {
				if r.args[i].Text == "--" {
					r.text(r.name+" explore", join(r.args[i+1:], r.c.More))
					return
				}
			}
			r.refuse("it opens a shell", it.word.Text)
		case "edit", "docs", "home", "bugs", "repo":
			r.refuse("it starts an editor or a browser", it.word.Text)
		case "node":
			r.start(r.name+" node", r.args[it.at:])
		case "env":
			r.refuse("it runs a program with another engine", it.word.Text)
		default:
			r.npmRest()
		}
		return
	}
}

// npmRest reads what follows a plain sub-command.
func (r *reader) npmRest() {
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		if it.name != "" && it.name != "-c" && !r.ended {
			r.apply(it)
		}
		if r.ended {
			return // the rest belongs to a script of the project
		}
	}
}

func (r *reader) npmConfig(sub string) {
	rest := r.args[r.i:]
	if sub != "set" {
		if len(rest) == 0 || rest[0].Text != "set" && rest[0].Text != "edit" {
			return
		}
		if rest[0].Text == "edit" {
			r.refuse("it starts an editor", "edit")
			return
		}
		rest = rest[1:]
	}
	for _, w := range rest {
		key, _, _ := strings.Cut(strings.TrimLeft(w.Text, "-"), "=")
		key = strings.TrimPrefix(key, "//")
		switch {
		case w.Open && key == w.Text:
			r.out.Maybe = true
			return
		case key == "registry" || key == "fund" || key == "audit" || key == "save-exact" || key == "save-prefix" || key == "loglevel" || key == "progress" || key == "strict-ssl" || key == "package-lock" || key == "engine-strict" || key == "fetch-retries" || key == "ignore-scripts" || key == "color" || key == "update-notifier" || key == "location" || strings.HasPrefix(key, "init-") && key != "init-module" || strings.HasPrefix(key, "fetch-") || strings.Contains(key, ":registry") || key == "cache" || key == "legacy-peer-deps":
			if !strings.Contains(w.Text, "=") {
				return
			}
		case strings.HasPrefix(w.Text, "-"):
		default:
			r.refuse("a setting of npm that may start programs", key)
			return
		}
	}
}

// readNpx reads npx and its like: a program of a package, fetched when it is not
// there.
func readNpx(r *reader) {
	r.row.flags = exact
	r.row.opts = "-c,--call=s -p,--package= -w,--workspace= --workspaces --cache= --userconfig=! --registry= --node-options=! --node-arg=! -n=! --shell=! --script-shell=! --prefix= -y,--yes --no --no-install --ignore-existing -q,--quiet -s,--silent --shell-auto-fallback=! --bun --cwd= -C,--dir= -r,--recursive --filter= --parallel --include-workspace-root --if-present --prefer-offline --offline --allow-build= -h,--help,-v,--version~"
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.unknown:
			r.refuse("an option is not known, so neither is the command behind it", it.word.Text)
		case it.name != "":
			r.apply(it)
		case r.lost || it.word.Open:
			r.out.Maybe = true
			return
		case r.idle:
			return
		default:
			name := it.word.Text
			if at := strings.LastIndexByte(name, '@'); at > 0 {
				name = name[:at]
			}
			if s := strings.LastIndexByte(name, '/'); s >= 0 {
				name = name[s+1:]
			}
			r.start(r.name, append([]words.Word{words.Known(name)}, r.args[it.at+1:]...))
			return
		}
	}
}

// readGo reads go: options that put another program in front of a tool.
func readGo(r *reader) {
	r.row.flags |= longOnly
	r.row.opts = "-exec=c -toolexec=c -vettool=p -C= -o= -run= -bench= -tags= -ldflags=l -gcflags= -asmflags= -gccgoflags=l -compiler=G -mod= -modfile= -overlay=! -pkgdir= -p= -count= -timeout= -coverprofile= -covermode= -coverpkg= -cpu= -fuzz= -fuzztime= -benchtime= -parallel= -skip= -shuffle= -list= -outputdir= -cpuprofile= -memprofile= -blockprofile= -trace= -f= -u= -w= -installsuffix= -buildmode= -vet= -pgo= -fixtool=p"
	sub, ok := r.text0()
	if !ok {
		r.out.Maybe = len(r.args) > 0 || r.c.More
		return
	}
	for strings.HasPrefix(sub, "-C") && len(r.args) > 1 {
		n := 2
		if strings.Contains(sub, "=") {
			n = 1
		}
		if len(r.args) <= n {
			return
		}
		r.args = r.args[n:]
		sub = r.args[0].Text
	}
	r.i = 1
	switch sub {
	case "env":
		r.goEnv()
		return
	case "bug", "telemetry":
		r.refuse("it starts a browser", sub)
		return
	case "build", "run", "test", "vet", "install", "get", "list", "generate", "clean", "fix", "tool", "work", "mod":
	default:
		return
	}
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.effect == "l":
			for _, mark := range []string{"-extld", "-extldflags", "-linkmode", "-toolexec", "-wrapper", "-fplugin", "-B"} {
				if strings.Contains(it.value.Text, mark) && mark != "-linkmode" {
					r.refuse("it names another linker", it.value.Text)
					break
				}
			}
			if it.value.Open {
				r.out.Maybe = true
			}
		case it.effect == "G":
			if it.value.Text != "gc" {
				r.refuse("another compiler is another program", it.value.Text)
			}
		case it.name == "-args" || sub == "run" && it.name == "" && !r.lost:
			if it.name == "" && strings.Contains(it.word.Text, "@") {
				r.refuse("it fetches and runs a program that nobody has read", it.word.Text)
			}
			if sub == "run" || it.name == "-args" {
				return
			}
		case it.name == "" && sub == "tool":
			return
		case it.name != "":
			r.apply(it)
		}
	}
}

// goEnv reads go env -w, which sets variables for good.
func (r *reader) goEnv() {
	write := false
	for _, w := range r.args[1:] {
		name, value, ok := strings.Cut(w.Text, "=")
		switch {
		case w.Text == "-w" || w.Text == "--w":
			write = true
		case ok && write:
			r.out.Sets = append(r.out.Sets, words.Assignment{Name: name, Value: words.Word{Text: value, Open: w.Open}})
		case w.Open:
			r.out.Maybe = true
		}
	}
}

// readCargo reads cargo: settings that put programs in front of the compiler, and
// sub-commands that are programs.
func readCargo(r *reader) {
	sub := ""
	for i := 0; i < len(r.args); i++ {
		w := r.args[i]
		t := w.Text
		switch {
		case w.Open && t == "" || w.Many:
			r.out.Maybe = true
		case t == "--" && !w.Open:
			return
		case t == "--config" || strings.HasPrefix(t, "--config="):
			_, value, joined := strings.Cut(t, "=")
			if !joined && i+1 < len(r.args) {
				i++
				value = r.args[i].Text
				w = r.args[i]
			}
			r.cargoSetting(words.Word{Text: value, Open: w.Open})
		case t == "-Z" || t == "-C" || t == "--manifest-path" || t == "--target" || t == "--target-dir" || t == "-p" || t == "--package" || t == "-F" || t == "--features" || t == "-j" || t == "--color":
			i++
		case strings.HasPrefix(t, "-"), strings.HasPrefix(t, "+"):
		case sub == "":
			if sub = t; !cargoKnown(t) {
				r.start("cargo", append([]words.Word{{Text: "cargo-" + t, Open: w.Open}}, r.args[i+1:]...))
				return
			}
		}
	}
}

func (r *reader) cargoSetting(w words.Word) {
	key, _, _ := strings.Cut(w.Text, "=")
	key = strings.ToLower(strings.Trim(key, " \t\"'"))
	switch {
	case w.Open && key == strings.ToLower(w.Text):
		r.out.Maybe = true
	case strings.HasPrefix(key, "net.") && !strings.Contains(key, "cli"), strings.HasPrefix(key, "term."), strings.HasPrefix(key, "http."), strings.HasPrefix(key, "profile."), key == "build.jobs", key == "build.target", key == "build.target-dir", key == "build.incremental", strings.HasPrefix(key, "registries.") && strings.HasSuffix(key, ".index"), strings.HasPrefix(key, "patch."):
	default:
		r.refuse("by this setting cargo starts a program, or reads more settings", w.Text)
	}
}

func cargoKnown(sub string) bool {
	switch sub {
	case "add", "bench", "build", "b", "check", "c", "clean", "clippy", "doc", "d", "fetch", "fix", "fmt", "generate-lockfile", "help", "info", "init", "install", "locate-project", "login", "logout", "metadata", "miri", "new", "owner", "package", "pkgid", "publish", "read-manifest", "remove", "rm", "report", "run", "r", "rustc", "rustdoc", "search", "test", "t", "tree", "uninstall", "update", "vendor", "verify-project", "version", "yank":
		return true
	default:
		return false
	}
}

// readPackages reads what installs packages of languages: those that run a command
// in an environment of theirs, and settings that start programs.
func readPackages(r *reader) {
	var sub string
	for i := 0; i < len(r.args); i++ {
		w := r.args[i]
		t := w.Text
		switch {
		case w.Open && (t == "" || w.Many) && sub == "":
			r.out.Maybe = true
			return
		case strings.HasPrefix(t, "--keyring-provider") && (strings.Contains(t, "subprocess") || i+1 < len(r.args) && r.args[i+1].Text == "subprocess"), strings.HasPrefix(t, "--editor"), strings.HasPrefix(t, "--config-settings=editor"), strings.HasPrefix(t, "--with-shell"):
			r.refuse("this option starts a program", t)
		case strings.HasPrefix(t, "-"):
			if packagesValued(t) {
				i++
			}
		case r.name == "uvx":
			r.start("uvx", append([]words.Word{{Text: strings.SplitN(t, "@", 2)[0], Open: w.Open}}, r.args[i+1:]...))
			return
		case sub == "" && (t == "tool" || t == "env") && (r.name == "uv" || r.name == "hatch"):
		case sub == "":
			sub = t
			switch {
			case runsBehind(r.name, sub):
				r.packaged(r.args[i+1:])
				return
			case (sub == "config") && i+1 < len(r.args) && r.args[i+1].Text == "edit", sub == "shell", sub == "console", sub == "open", sub == "repl", sub == "code":
				r.refuse("it starts a shell or an editor", sub)
				return
			}
		}
	}
}

func packagesValued(t string) bool {
	switch t {
	case "-p", "--python", "-n", "--name", "--with", "--from", "-C", "--directory", "--project", "-e", "--env", "--spec", "--index-url", "-i", "--extra", "--group", "--package", "--extra-index-url", "-r", "--gemfile", "--prefix", "--env-file", "--with-requirements", "--working-dir", "-d":
		return true
	default:
		return false
	}
}

func runsBehind(name, sub string) bool {
	switch name {
	case "uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "pipx":
		return sub == "run"
	case "bundle", "bundler", "composer", "gem", "opam", "cabal":
		return sub == "exec"
	default:
		return false
	}
}

// packaged reads the command behind run or exec.
func (r *reader) packaged(ws []words.Word) {
	for i := 0; i < len(ws); i++ {
		t := ws[i].Text
		switch {
		case ws[i].Open && (t == "" || ws[i].Many):
			r.out.Maybe = true
			return
		case t == "--":
			r.start(r.name+" run", ws[i+1:])
			return
		case packagesValued(t):
			i++
		case strings.HasPrefix(t, "-"):
		case strings.HasSuffix(t, ".py"):
			return // a program file, as with python
		default:
			r.start(r.name+" run", ws[i:])
			return
		}
	}
}

// readApt reads apt: settings on the command line may be hooks.
func readApt(r *reader) {
	r.row.opts = "-o,--option=k -c,--config-file=! -t,--target-release,--default-release= -a,--host-architecture= -y,--yes -q,--quiet? -s -d -f -m -u -V -h,--help,-v,--version~ --pre-invoke=! --solver=!"
	first := true
	for {
		it, ok := r.next()
		if !ok {
			return
		}
		switch {
		case it.effect == "k":
			r.aptSetting(it.value)
		case it.name != "":
			r.apply(it)
		case first:
			first = false
			if it.word.Text == "edit-sources" {
				r.refuse("it starts an editor", it.word.Text)
			}
		}
	}
}

func (r *reader) aptSetting(w words.Word) {
	key, value, _ := strings.Cut(w.Text, "=")
	k := strings.ToLower(strings.TrimRight(key, ": "))
	switch {
	case w.Open && key == w.Text:
		r.out.Maybe = true
	case k == "dpkg::options" && (value == "--force-confold" || value == "--force-confdef" || value == "--force-confnew" || value == "--force-confmiss"), k == "dpkg::use-pty", k == "dpkg::lock::timeout", k == "dpkg::progress-fancy",
		strings.HasPrefix(k, "acquire::") && !strings.Contains(k, "proxy-auto") && !strings.Contains(k, "proxyautodetect") && !strings.Contains(k, "compressiontypes") && !strings.Contains(k, "run"),
		strings.HasPrefix(k, "apt::install-"), strings.HasPrefix(k, "apt::get::") && !strings.Contains(k, "command"), k == "apt::sandbox::user", strings.HasPrefix(k, "apt::color"), strings.HasPrefix(k, "apt::cache") && !strings.Contains(k, "invoke"), strings.HasPrefix(k, "debug::"), k == "quiet":
	default:
		r.refuse("by this setting apt starts a program, or may", key)
	}
}

// readSystemPackages reads other package tools of systems.
func readSystemPackages(r *reader) {
	for i, w := range r.args {
		t := w.Text
		switch {
		case w.Open && t == "" && i == 0:
			r.out.Maybe = true
		case strings.HasPrefix(t, "--hookdir"), strings.HasPrefix(t, "--config"), strings.HasPrefix(t, "--setopt=plug"), strings.HasPrefix(t, "--gpgdir"), r.name == "brew" && (t == "sh" || t == "edit" || t == "ruby" || t == "irb" || t == "exec"), r.name == "dnf" && t == "shell", r.name == "yum" && t == "shell", r.name == "zypper" && t == "shell":
			r.refuse("it runs what it names, or reads commands", t)
		}
	}
}
