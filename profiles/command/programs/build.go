// This file owns the table of git, build tools, and what installs packages.
// This file asks it.

package programs

import (
	"strings"

	"github.com/ringd/ringd/profiles/argv"
)

// reader is the engine's, with what this package reads by itself.
type buildReader struct{ *Reader }

// ownBuild makes a reader of this package one of the engine.
func ownBuild(f func(*buildReader)) func(*Reader) {
	return func(r *Reader) { f(&buildReader{r}) }
}

// buildRows are git, what builds, and what installs.
func buildRows(name string) (row, bool) {
	switch name {
	case "git":
		return row{Own: ownBuild(readGit)}, true
	case "make", "gmake", "bmake", "nmake":
		return row{Own: ownBuild(readMake), Flags: runsFiles, Opts: "-f,--file,--makefile=F -C,--directory= -I,--include-dir= -E,--eval=! -j,--jobs? -l,--load-average,--max-load? -o,--old-file,--assume-old= -W,--what-if,--new-file,--assume-new= -O,--output-sync? --debug? --shuffle? --jobserver-style= --jobserver-auth? -b -m -B,--always-make -d -e,--environment-overrides -i,--ignore-errors -k,--keep-going -L -n,--just-print,--dry-run,--recon -p,--print-data-base -q,--question -r,--no-builtin-rules -R -s,--silent,--quiet -S -t,--touch -v,--version~ -w,--print-directory -h,--help~ --no-print-directory --warn-undefined-variables"}, true
	case "ninja", "ninja-build", "samu", "just", "task", "rake", "ant", "gradle", "gradlew", "mvn", "mvnw", "sbt", "lein", "scons", "waf", "meson", "bazel", "bazelisk", "buck", "buck2", "pants", "tup", "redo", "jake", "gulp", "grunt", "invoke", "doit", "nox", "tox", "pre-commit", "lefthook", "husky", "turbo", "nx", "lerna", "tilt", "skaffold", "earthly", "dagger", "act", "drone", "autoreconf", "autoconf", "automake", "libtool", "dpkg-buildpackage", "debuild", "makepkg", "ebuild", "rustup", "nvm", "pyenv", "rbenv", "asdf", "mise", "rtx", "volta", "fnm", "sdk":
		return row{Own: ownBuild(readBuilder), Flags: runsFiles}, true
	case "cmake", "ctest", "cpack":
		return row{Own: ownBuild(readCMake), Flags: runsFiles}, true
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "cpp", "gfortran", "tcc", "icx":
		return row{Own: ownBuild(readCompiler)}, true
	case "npm", "pnpm", "yarn", "yarnpkg", "cnpm":
		return row{Own: ownBuild(readNpm), Flags: runsFiles}, true
	case "npx", "pnpx", "bunx":
		return row{Own: ownBuild(readNpx), Flags: runsFiles}, true
	case "go":
		return row{Own: ownBuild(readGo), Flags: runsFiles}, true
	case "cargo":
		return row{Own: ownBuild(readCargo), Flags: runsFiles}, true
	case "pip", "pip2", "pip3", "uv", "uvx", "pipx", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "bundle", "bundler", "gem", "composer", "cpan", "cpanm", "luarocks", "opam", "cabal", "dotnet", "flutter", "pub", "easy_install":
		return row{Own: ownBuild(readPackages), Flags: runsFiles}, true
	case "apt", "apt-get", "aptitude", "apt-cache", "apt-mark", "apt-key", "apt-config":
		return row{Own: ownBuild(readApt), Flags: runsFiles}, true
	case "dnf", "yum", "microdnf", "zypper", "pacman", "apk", "brew", "port", "emerge", "nix-env", "snapcraft", "xbps-install", "pkg":
		return row{Own: ownBuild(readSystemPackages), Flags: runsFiles}, true
	default:
		return row{}, false
	}
}

// readMake reads make: variables it sets for its recipes, and text of a makefile.
func readMake(r *buildReader) {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Effect == "F":
			r.FromFile(it.Value, "make")
		case it.Name != "":
			r.Apply(it)
		default:
			r.makeVariable(it.Word)
		}
	}
}

func (r *buildReader) makeVariable(w argv.Word) {
	name, value, ok := strings.Cut(w.Text, "=")
	if !ok {
		if w.Open {
			r.Out.Maybe = r.Out.Maybe || !w.Fed
		}
		return
	}
	if strings.HasSuffix(name, "!") {
		r.Refuse("make runs the value of such a variable", w.Text)
		return
	}
	for _, f := range []string{"shell", "eval", "file", "guile", "call", "load", "foreach", "let"} {
		if strings.Contains(value, "$("+f) || strings.Contains(value, "${"+f) {
			r.Refuse("make runs a function in the value", w.Text)
			return
		}
	}
	name = strings.TrimRight(name, ":+?")
	if name == ".SHELLFLAGS" || name == "SHELL" || name == "MAKE" || name == "MAKEFILES" || strings.Contains(name, "$") {
		r.Refuse("by this variable make runs another program", name)
		return
	}
	if w.Open && !w.Fed && value == "" {
		r.Out.Maybe = true // a function of make
	}
	r.Out.Sets = append(r.Out.Sets, argv.Assignment{Name: name, Value: argv.Word{Text: value, Open: w.Open, Fed: w.Fed}})
}

// readBuilder reads build tools that run what their files say: text on the command
// line is refused.
func readBuilder(r *buildReader) {
	for i, w := range r.Args {
		switch t := w.Text; {
		case w.Open && t == "" && i == 0,
			w.Open && !w.Fed && (r.Name == "mvn" || r.Name == "mvnw") && strings.HasPrefix("-Dexec.executable", t):
			r.Out.Maybe = true
		case r.Name == "just" && (t == "--shell" || t == "--command" || t == "-c" || t == "--chooser" || strings.HasPrefix(t, "--shell=") || strings.HasPrefix(t, "--choose") || t == "--edit" || t == "-e"),
			r.Name == "rake" && (t == "-e" || t == "-E" || t == "-p" || strings.HasPrefix(t, "--execute")),
			(r.Name == "sbt" || r.Name == "lein") && strings.HasPrefix(t, "eval"),
			(r.Name == "gradle" || r.Name == "gradlew") && (t == "-I" || strings.HasPrefix(t, "--init-script")),
			(r.Name == "mvn" || r.Name == "mvnw") && strings.HasPrefix(t, "-Dexec.executable"), r.Name == "meson" && t == "devenv",
			strings.HasPrefix(r.Name, "bazel") && (strings.HasPrefix(t, "--run_under") || strings.HasPrefix(t, "--workspace_status_command")),
			r.Name == "asdf" && t == "exec", r.Name == "mise" && (t == "exec" || t == "x"), r.Name == "rtx" && (t == "exec" || t == "x"),
			(r.Name == "pyenv" || r.Name == "rbenv") && t == "exec", (r.Name == "nvm" || r.Name == "fnm" || r.Name == "volta") && (t == "exec" || t == "run"), r.Name == "rustup" && (t == "run" || strings.HasPrefix(t, "self")), r.Name == "lerna" && t == "exec", r.Name == "nx" && t == "exec":
			r.Refuse("it runs what the command line says", t)
		}
	}
}

// readCMake reads cmake: -E env and -E time start a command.
func readCMake(r *buildReader) {
	for i, w := range r.Args {
		switch t := w.Text; {
		case w.Open && t == "":
			r.Out.Maybe = true
		case t == "--" && r.HasWord("--build"):
			if t, ok := r.Lookup("make"); ok { // the words of the program that builds
				r.Args, r.I = r.Args[i+1:], 0
				r.As(t)
			}
			return
		case t == "-E" && i+1 < len(r.Args):
			switch r.Args[i+1].Text {
			case "env":
				if t, ok := r.Lookup("env"); ok {
					r.Args, r.I = r.Args[i+2:], 0
					r.As(t)
				}
			case "time":
				r.Start("cmake -E time", r.Args[i+2:])
			case "chdir":
				if len(r.Args) > i+3 {
					r.Start("cmake -E chdir", r.Args[i+3:])
				}
			case "__run_co_compile", "cmake_llvm_rc", "cmake_link_script", "cmake_transform_depfile", "server", "cmake_symlink_executable":
				r.Refuse("it starts the programs that it is told", r.Args[i+1].Text)
			}
			return
		case strings.HasPrefix(t, "-DCMAKE_") && strings.Contains(t, "LAUNCHER"), strings.HasPrefix(t, "-DCMAKE_") && strings.Contains(t, "COMPILER") && !strings.Contains(t, "COMPILER_ID"), strings.HasPrefix(t, "-DCMAKE_MAKE_PROGRAM"), strings.HasPrefix(t, "--build-makeprogram"), strings.HasPrefix(t, "--test-command"), strings.HasPrefix(t, "--debugger"), t == "--open":
			_, value, _ := strings.Cut(t, "=")
			switch value {
			case "gcc", "g++", "clang", "clang++", "cc", "c++", "ccache", "ninja", "make":
				r.StartWith("cmake", []argv.Word{argv.Known(value)}, nil, true)
			default:
				r.Refuse("cmake starts the program that it names", t)
			}
		}
	}
}

// readCompiler reads C compilers: their passes can be replaced.
func readCompiler(r *buildReader) {
	for _, w := range r.Args {
		t := w.Text
		switch {
		case w.Open && (t == "" || w.Many):
			r.Out.Maybe = r.Out.Maybe || !w.Fed
		case strings.HasPrefix(t, "-Wl,") && strings.Contains(t, "plugin") && !strings.Contains(t, "plugin-opt"), t == "-wrapper", strings.HasPrefix(t, "-fplugin="), strings.HasPrefix(t, "-specs="), strings.HasPrefix(t, "--specs="), t == "-specs", strings.HasPrefix(t, "-B"), strings.HasPrefix(t, "-fpass-plugin"), t == "-load", strings.HasPrefix(t, "-fuse-ld=/"), strings.HasPrefix(t, "--ld-path"), strings.HasPrefix(t, "-ccc-"), strings.HasPrefix(t, "--gcc-toolchain"), strings.HasPrefix(t, "@"), strings.HasPrefix(t, "--config"):
			r.Refuse("it replaces a part of the compiler by another program", t)
		}
	}
}

// readNpm reads npm and its like: scripts of the project, programs of packages, and
// text for a shell.
func readNpm(r *buildReader) {
	r.Row.Flags |= exact
	r.Row.Opts = "--script-shell=! --shell=! --git=! --editor=! --viewer=! --browser? --node-options=! --init-module=! --onload-script=! --scripts-prepend-node-path= --node-gyp=! --python=! --script-shell-emulator -c,--call=s -C,--prefix,--dir,--cwd= -w,--workspace= -F,--filter= --registry= --userconfig=! --globalconfig=! --loglevel= --cache= --tag= --otp= --access= --omit= --include= -r -s,--silent -g,--global -D -E -O -P -v,--version,-h,--help~ --if-present --ignore-scripts --use-yarnrc=!"
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Name != "":
			r.Apply(it)
			continue
		case r.Lost || it.Word.Open:
			r.Out.Maybe = true
			return
		}
		switch it.Word.Text {
		case "exec", "x", "dlx":
			readNpx(r)
		case "create", "init", "innit":
			if r.I < len(r.Args) && !strings.HasPrefix(r.Args[r.I].Text, "-") {
				r.Start(r.Name+" "+it.Word.Text, append([]argv.Word{{Text: "create-" + r.Args[r.I].Text, Open: r.Args[r.I].Open}}, r.Args[r.I+1:]...))
			}
		case "config", "set", "c":
			r.npmConfig(it.Word.Text)
		case "explore":
			for i := r.I; i < len(r.Args); i++ {
				if r.Args[i].Text == "--" {
					r.Text(r.Name+" explore", Join(r.Args[i+1:], r.C.More))
					return
				}
			}
			r.Refuse("it opens a shell", it.Word.Text)
		case "edit", "docs", "home", "bugs", "repo":
			r.Refuse("it starts an editor or a browser", it.Word.Text)
		case "node":
			r.Start(r.Name+" node", r.Args[it.At:])
		case "env":
			r.Refuse("it runs a program with another engine", it.Word.Text)
		default:
			r.npmRest()
		}
		return
	}
}

// npmRest reads what follows a plain sub-command.
func (r *buildReader) npmRest() {
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		if it.Name != "" && it.Name != "-c" && !r.Ended {
			r.Apply(it)
		}
		if r.Ended {
			return // the rest belongs to a script of the project
		}
	}
}

func (r *buildReader) npmConfig(sub string) {
	rest := r.Args[r.I:]
	if sub != "set" {
		if len(rest) > 0 && rest[0].Open {
			r.Out.Maybe = true
			return
		}
		if len(rest) == 0 || rest[0].Text != "set" && rest[0].Text != "edit" {
			return
		}
		if rest[0].Text == "edit" {
			r.Refuse("it starts an editor", "edit")
			return
		}
		rest = rest[1:]
	}
	for _, w := range rest {
		key, _, _ := strings.Cut(strings.TrimLeft(w.Text, "-"), "=")
		key = strings.TrimPrefix(key, "//")
		switch {
		case w.Open && key == w.Text:
			r.Out.Maybe = true
			return
		case key == "registry" || key == "fund" || key == "audit" || key == "save-exact" || key == "save-prefix" || key == "loglevel" || key == "progress" || key == "strict-ssl" || key == "package-lock" || key == "engine-strict" || key == "fetch-retries" || key == "ignore-scripts" || key == "color" || key == "update-notifier" || key == "location" || strings.HasPrefix(key, "init-") && key != "init-module" || strings.HasPrefix(key, "fetch-") || strings.Contains(key, ":registry") || key == "cache" || key == "legacy-peer-deps":
			if !strings.Contains(w.Text, "=") {
				return
			}
		case strings.HasPrefix(w.Text, "-"):
		default:
			r.Refuse("a setting of npm that may start programs", key)
			return
		}
	}
}

// readNpx reads npx and its like: a program of a package, fetched when it is not
// there.
func readNpx(r *buildReader) {
	r.Row.Flags = exact
	r.Row.Opts = "-c,--call=s -p,--package= -w,--workspace= --workspaces --cache= --userconfig=! --registry= --node-options=! --node-arg=! -n=! --shell=! --script-shell=! --prefix= -y,--yes --no --no-install --ignore-existing -q,--quiet -s,--silent --shell-auto-fallback=! --bun --cwd= -C,--dir= -r,--recursive --filter= --parallel --include-workspace-root --if-present --prefer-offline --offline --allow-build= -h,--help,-v,--version~"
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Unknown:
			r.Refuse("an option is not known, so neither is the command behind it", it.Word.Text)
		case it.Name != "":
			r.Apply(it)
		case r.Lost || it.Word.Open:
			r.Out.Maybe = true
			return
		case r.Idle:
			return
		default:
			name := it.Word.Text
			if at := strings.LastIndexByte(name, '@'); at > 0 {
				name = name[:at]
			}
			if s := strings.LastIndexByte(name, '/'); s >= 0 {
				name = name[s+1:]
			}
			r.Start(r.Name, append([]argv.Word{argv.Known(name)}, r.Args[it.At+1:]...))
			return
		}
	}
}

// readGo reads go: options that put another program in front of a tool.
func readGo(r *buildReader) {
	r.Row.Flags |= longOnly
	r.Row.Opts = "-exec=c -toolexec=c -vettool=p -C= -o= -run= -bench= -tags= -ldflags=l -gcflags= -asmflags= -gccgoflags=l -compiler=G -mod= -modfile= -overlay=! -pkgdir= -p= -count= -timeout= -coverprofile= -covermode= -coverpkg= -cpu= -fuzz= -fuzztime= -benchtime= -parallel= -skip= -shuffle= -list= -outputdir= -cpuprofile= -memprofile= -blockprofile= -trace= -f= -u= -w= -installsuffix= -buildmode= -vet= -pgo= -fixtool=p"
	sub, ok := r.First()
	if !ok {
		r.Out.Maybe = len(r.Args) > 0 || r.C.More
		return
	}
	for strings.HasPrefix(sub, "-C") && len(r.Args) > 1 {
		n := 2
		if strings.Contains(sub, "=") {
			n = 1
		}
		if len(r.Args) <= n {
			return
		}
		r.Args = r.Args[n:]
		sub = r.Args[0].Text
	}
	r.I = 1
	switch sub {
	case "env":
		r.goEnv()
		return
	case "bug", "telemetry":
		r.Refuse("it starts a browser", sub)
		return
	case "build", "run", "test", "vet", "install", "get", "list", "generate", "clean", "fix", "tool", "work", "mod":
	default:
		return
	}
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Effect == "l":
			for _, mark := range []string{"-extld", "-extldflags", "-linkmode", "-toolexec", "-wrapper", "-fplugin", "-B"} {
				if strings.Contains(it.Value.Text, mark) && mark != "-linkmode" {
					r.Refuse("it names another linker", it.Value.Text)
					break
				}
			}
			if it.Value.Open {
				r.Out.Maybe = true
			}
		case it.Effect == "G":
			if it.Value.Text != "gc" {
				r.Refuse("another compiler is another program", it.Value.Text)
			}
		case it.Name == "-args" || sub == "run" && it.Name == "" && !r.Lost:
			if it.Name == "" && strings.Contains(it.Word.Text, "@") {
				r.Refuse("it fetches and runs a program that nobody has read", it.Word.Text)
			}
			if sub == "run" || it.Name == "-args" {
				return
			}
		case it.Name == "" && sub == "tool":
			return
		case it.Name != "":
			r.Apply(it)
		}
	}
}

// goEnv reads go env -w, which sets variables for good.
func (r *buildReader) goEnv() {
	write := false
	for _, w := range r.Args[1:] {
		name, value, ok := strings.Cut(w.Text, "=")
		switch {
		case w.Text == "-w" || w.Text == "--w":
			write = true
		case ok && write:
			r.Out.Sets = append(r.Out.Sets, argv.Assignment{Name: name, Value: argv.Word{Text: value, Open: w.Open}})
		case w.Open:
			r.Out.Maybe = true
		}
	}
}

// readCargo reads cargo: settings that put programs in front of the compiler, and
// sub-commands that are programs.
func readCargo(r *buildReader) {
	sub := ""
	for i := 0; i < len(r.Args); i++ {
		w := r.Args[i]
		t := w.Text
		switch {
		case w.Open && t == "" || w.Many:
			r.Out.Maybe = true
		case t == "--" && !w.Open:
			return
		case t == "--config" || strings.HasPrefix(t, "--config="):
			_, value, joined := strings.Cut(t, "=")
			if !joined && i+1 < len(r.Args) {
				i++
				value = r.Args[i].Text
				w = r.Args[i]
			}
			r.cargoSetting(argv.Word{Text: value, Open: w.Open})
		case t == "-Z" || t == "-C" || t == "--manifest-path" || t == "--target" || t == "--target-dir" || t == "-p" || t == "--package" || t == "-F" || t == "--features" || t == "-j" || t == "--color":
			i++
		case strings.HasPrefix(t, "-"), strings.HasPrefix(t, "+"):
		case sub == "":
			if sub = t; !cargoKnown(t) {
				r.Start("cargo", append([]argv.Word{{Text: "cargo-" + t, Open: w.Open}}, r.Args[i+1:]...))
				return
			}
		}
	}
}

func (r *buildReader) cargoSetting(w argv.Word) {
	key, _, _ := strings.Cut(w.Text, "=")
	key = strings.ToLower(strings.Trim(key, " \t\"'"))
	switch {
	case w.Open && key == strings.ToLower(w.Text):
		r.Out.Maybe = true
	case strings.HasPrefix(key, "net.") && !strings.Contains(key, "cli"), strings.HasPrefix(key, "term."), strings.HasPrefix(key, "http."), strings.HasPrefix(key, "profile."), key == "build.jobs", key == "build.target", key == "build.target-dir", key == "build.incremental", strings.HasPrefix(key, "registries.") && strings.HasSuffix(key, ".index"), strings.HasPrefix(key, "patch."):
	default:
		r.Refuse("by this setting cargo starts a program, or reads more settings", w.Text)
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
func readPackages(r *buildReader) {
	var sub string
	for i := 0; i < len(r.Args); i++ {
		w := r.Args[i]
		t := w.Text
		switch {
		case w.Open && (t == "" || w.Many) && sub == "":
			r.Out.Maybe = true
			return
		case strings.HasPrefix(t, "--keyring-provider") && (strings.Contains(t, "subprocess") || i+1 < len(r.Args) && r.Args[i+1].Text == "subprocess"), strings.HasPrefix(t, "--editor"), strings.HasPrefix(t, "--config-settings=editor"), strings.HasPrefix(t, "--with-shell"):
			r.Refuse("this option starts a program", t)
		case strings.HasPrefix(r.Name, "pip") && r.Name != "pipx" && r.Name != "pipenv" && strings.HasPrefix(t, "--py") && t != "--python-version" && !strings.HasPrefix(t, "--python-version="):
			if _, value, joined := strings.Cut(t, "="); joined {
				w.Text = value
				r.Program("pip --python", w)
			} else if i++; i < len(r.Args) {
				r.Program("pip --python", r.Args[i])
			}
		case strings.HasPrefix(t, "-"):
			if packagesValued(t) {
				i++
			}
		case r.Name == "uvx":
			r.Start("uvx", append([]argv.Word{{Text: strings.SplitN(t, "@", 2)[0], Open: w.Open}}, r.Args[i+1:]...))
			return
		case sub == "" && (t == "tool" || t == "env") && (r.Name == "uv" || r.Name == "hatch"):
		case sub == "":
			sub = t
			switch {
			case runsBehind(r.Name, sub):
				r.packaged(r.Args[i+1:])
				return
			case sub == "config" && i+1 < len(r.Args) && r.Args[i+1].Open:
				r.Out.Maybe = true
				return
			case sub == "config" && i+1 < len(r.Args) && r.Args[i+1].Text == "edit", sub == "shell", sub == "console", sub == "open", sub == "repl", sub == "code":
				r.Refuse("it starts a shell or an editor", sub)
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
func (r *buildReader) packaged(ws []argv.Word) {
	for i := 0; i < len(ws); i++ {
		t := ws[i].Text
		switch {
		case ws[i].Open && (t == "" || ws[i].Many):
			r.Out.Maybe = true
			return
		case t == "--":
			r.Start(r.Name+" run", ws[i+1:])
			return
		case packagesValued(t):
			i++
		case strings.HasPrefix(t, "-"):
		case strings.HasSuffix(t, ".py"):
			return // a program file, as with python
		default:
			r.Start(r.Name+" run", ws[i:])
			return
		}
	}
}

// readApt reads apt: settings on the command line may be hooks.
func readApt(r *buildReader) {
	r.Row.Opts = "-o,--option=k -c,--config-file=! -t,--target-release,--default-release= -a,--host-architecture= -y,--yes -q --quiet? -s -d -f -m -u -V -h,--help,-v,--version~ --pre-invoke=! --solver=!"
	first := true
	for {
		it, ok := r.Next()
		if !ok {
			return
		}
		switch {
		case it.Effect == "k":
			r.aptSetting(it.Value)
		case it.Name != "":
			r.Apply(it)
		case first:
			first = false
			if it.Word.Text == "edit-sources" {
				r.Refuse("it starts an editor", it.Word.Text)
			}
		}
	}
}

func (r *buildReader) aptSetting(w argv.Word) {
	key, value, _ := strings.Cut(w.Text, "=")
	k := strings.ToLower(strings.TrimRight(key, ": "))
	switch {
	case w.Open && key == w.Text:
		r.Out.Maybe = true
	case k == "dpkg::options" && (value == "--force-confold" || value == "--force-confdef" || value == "--force-confnew" || value == "--force-confmiss"), k == "dpkg::use-pty", k == "dpkg::lock::timeout", k == "dpkg::progress-fancy",
		strings.HasPrefix(k, "acquire::") && !strings.Contains(k, "proxy-auto") && !strings.Contains(k, "proxyautodetect") && !strings.Contains(k, "compressiontypes") && !strings.Contains(k, "run"),
		strings.HasPrefix(k, "apt::install-"), strings.HasPrefix(k, "apt::get::") && !strings.Contains(k, "command"), k == "apt::sandbox::user", strings.HasPrefix(k, "apt::color"), strings.HasPrefix(k, "apt::cache") && !strings.Contains(k, "invoke"), strings.HasPrefix(k, "debug::"), k == "quiet":
	default:
		r.Refuse("by this setting apt starts a program, or may", key)
	}
}

// readSystemPackages reads other package tools of systems.
func readSystemPackages(r *buildReader) {
	for i, w := range r.Args {
		t := w.Text
		switch {
		case w.Open && t == "" && i == 0:
			r.Out.Maybe = true
		case strings.HasPrefix(t, "--hookdir"), strings.HasPrefix(t, "--config"), strings.HasPrefix(t, "--setopt=plug"), strings.HasPrefix(t, "--gpgdir"), r.Name == "brew" && (t == "sh" || t == "edit" || t == "ruby" || t == "irb" || t == "exec"), r.Name == "dnf" && t == "shell", r.Name == "yum" && t == "shell", r.Name == "zypper" && t == "shell":
			r.Refuse("it runs what it names, or reads commands", t)
		}
	}
}
