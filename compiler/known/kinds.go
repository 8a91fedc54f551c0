package known

import (
	"path"
	"slices"
	"strings"
)

// kind is a special ability of a program, by its name. It is used only for findings; enforcement does not
// depend on it.
type kind uint8

const (
	plain       kind = iota
	shell            // ringd interprets its scripts
	interpreter      // runs programs from files or from the network
	launcher         // runs the command in its arguments, and little else
	escalator        // a launcher that changes the user or the host
	many             // many programs in one, or any program
)

// IsShell reports whether a path names a shell. A shell is never started: ringd interprets its scripts.
func IsShell(p string) bool { return kindOf(p) == shell }

// ReservedProgram reports whether only ringd may set a variable for programs.
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
	case slices.Contains([]string{"busybox", "toybox", "busybox.static", "coreutils", "ld.so"}, name) || isLoader(name):
		return many
	case slices.Contains([]string{"sudo", "sudoedit", "doas", "su", "runuser", "pkexec", "chroot", "unshare", "nsenter",
		"setpriv", "capsh", "newgrp", "sg", "systemd-run", "at", "batch", "crontab"}, name):
		return escalator
	case slices.Contains([]string{"env", "xargs", "nice", "ionice", "chrt", "taskset", "timeout", "nohup", "setsid",
		"stdbuf", "time", "flock", "watch", "parallel", "entr", "script", "strace", "ltrace", "unbuffer", "chronic",
		"ts", "catchsegv", "numactl", "prlimit", "setarch", "linux64", "linux32", "fakeroot", "dbus-run-session",
		"xvfb-run", "daemonize", "start-stop-daemon"}, name):
		return launcher
	case interprets(name) || interprets(withoutVersion(name)):
		return interpreter
	default:
		return plain
	}
}

// isLoader reports whether a name is that of a dynamic loader, which starts any readable program.
func isLoader(name string) bool {
	for _, prefix := range []string{"ld-linux", "ld-musl", "ld64.so", "ld-2.", "ld-uClibc"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "ld.so.1"
}

// withoutVersion returns a name without its version: python3.12, node20, pip3.
func withoutVersion(name string) string {
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

// isProgramFolder reports whether a folder holds all programs of a host.
func isProgramFolder(p string) bool {
	return slices.Contains([]string{"/", "/bin", "/sbin", "/lib", "/lib64", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib",
		"/usr/lib64", "/usr/libexec", "/usr/local", "/usr/local/bin",
		"/usr/local/sbin", "/usr/local/lib", "/opt", "/home", "/root", "/etc", "/var", "/run", "/nix", "/nix/store",
		"/snap", "/snap/bin"}, p)
}
