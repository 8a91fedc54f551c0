package known

import (
	"path"
	"slices"
	"strings"
)

// kind is what a program can do beside what it is called for, by its name. The
// lists here are for what authors are told; nothing is enforced by them.
type kind uint8

const (
	plain       kind = iota
	shell            // its text is ringd's to interpret
	interpreter      // runs programs out of files or of the network
	launcher         // runs the command behind its own words, and does little else
	escalator        // a launcher that would change who runs it, or where
	many             // many programs in one, or any
)

// IsShell reports whether a path is that of a shell. Such a program is never
// started: ringd reads and interprets what it is given.
func IsShell(p string) bool { return kindOf(p) == shell }

// ReservedProgram reports whether a variable is ringd's to set for every program.
func ReservedProgram(name string) bool {
	switch name {
	case "PATH", "HOME", "PWD", "OLDPWD", "TMPDIR", "SHELL":
		return true
	default:
		return false
	}
}

func kindOf(p string) kind {
	name := path.Base(p)
	switch {
	case slices.Contains([]string{"sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "ksh93", "rksh", "mksh", "lksh",
		"oksh", "pdksh", "yash", "posh", "fish", "csh", "tcsh", "pwsh", "nu", "elvish", "xonsh", "osh"}, name):
		return shell
	case slices.Contains([]string{"busybox", "toybox", "busybox.static", "coreutils", "ld.so"}, name) || loader(name):
		return many
	case slices.Contains([]string{"sudo", "sudoedit", "doas", "su", "runuser", "pkexec", "chroot", "unshare", "nsenter",
		"setpriv", "capsh", "newgrp", "sg", "systemd-run", "at", "batch", "crontab"}, name):
		return escalator
	case slices.Contains([]string{"env", "xargs", "nice", "ionice", "chrt", "taskset", "timeout", "nohup", "setsid",
		"stdbuf", "time", "flock", "watch", "parallel", "entr", "script", "strace", "ltrace", "unbuffer", "chronic",
		"ts", "catchsegv", "numactl", "prlimit", "setarch", "linux64", "linux32", "fakeroot", "dbus-run-session",
		"xvfb-run", "daemonize", "start-stop-daemon"}, name):
		return launcher
	case interprets(name) || interprets(stem(name)):
		return interpreter
	default:
		return plain
	}
}

// loader reports whether a name is that of a dynamic loader, which starts any
// program that it can read.
func loader(name string) bool {
	for _, prefix := range []string{"ld-linux", "ld-musl", "ld64.so", "ld-2.", "ld-uClibc"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "ld.so.1"
}

// stem is a name without the version behind it: python3.12, node20, pip3.
func stem(name string) string {
	return strings.TrimRight(strings.TrimRight(name, "0123456789."), "-.")
}

func interprets(name string) bool {
	switch name {
	case "python", "pypy", "ipython", "jupyter", "pytest", "tox", "nox", "pip", "pipx", "uv", "uvx", "poetry", "pdm",
		"hatch", "conda", "mamba",
		"node", "nodejs", "deno", "bun", "bunx", "npm", "npx", "yarn", "pnpm", "pnpx", "tsx", "ts-node", "corepack",
		"perl", "ruby", "irb", "rake", "gem", "bundle", "bundler", "php", "composer", "lua", "luajit", "tclsh", "wish",
		"expect", "guile", "racket", "sbcl", "clisp", "emacs",
		"r", "R", "Rscript", "julia", "octave", "java", "jshell", "groovy", "scala", "kotlin", "clojure", "ghci",
		"runghc", "runhaskell", "stack", "cabal",
		"erl", "escript", "elixir", "iex", "mix", "dotnet", "mono", "osascript", "gdb", "lldb", "vi", "vim", "nvim",
		"ex", "view",
		"go", "cargo", "rustc", "gcc", "g++", "cc", "c++", "clang", "clang++", "make", "gmake", "ninja", "cmake",
		"ctest", "meson", "bazel", "buck", "gradle", "gradlew", "mvn", "ant", "sbt", "just", "task", "scons",
		"autoconf", "m4",
		"docker", "podman", "nerdctl", "kubectl", "helm", "terraform", "tofu", "ansible", "ansible-playbook", "vagrant",
		"ssh", "rsync", "scp",
		"sqlite", "psql", "mysql", "mariadb", "apt", "apt-get", "dpkg", "dnf", "yum", "rpm", "apk", "pacman", "brew",
		"snap", "flatpak", "systemctl", "service":
		return true
	default:
		return false
	}
}

// everything reports whether a folder is one of those that hold all programs of
// a host.
func everything(p string) bool {
	return slices.Contains([]string{"/", "/bin", "/sbin", "/lib", "/lib64", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib",
		"/usr/lib64", "/usr/libexec", "/usr/local", "/usr/local/bin",
		"/usr/local/sbin", "/usr/local/lib", "/opt", "/home", "/root", "/etc", "/var", "/run", "/nix", "/nix/store",
		"/snap", "/snap/bin"}, p)
}
