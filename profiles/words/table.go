package words

import (
	"slices"
	"strings"
)

// The tables here are hand-written. They make patterns match more spellings
// and are no wall: the list of programs is the wall.

// wholeWords names programs whose single-dash options are words, not clusters.
func wholeWords(base string) bool {
	switch base {
	case "find", "go", "java", "openssl", "terraform", "ffmpeg", "xdotool":
		return true
	default:
		return false
	}
}

// sameShort gives another short flag with the same meaning.
func sameShort(base string, c byte) (byte, bool) {
	switch base {
	case "rm", "cp", "ls", "grep", "chmod", "chown", "chgrp", "scp":
		switch c {
		case 'r':
			return 'R', true
		case 'R':
			return 'r', true
		}
	}
	return 0, false
}

// longOf gives the long form of a short flag, "" when it is not known.
func longOf(base, sub string, c byte) string {
	switch base {
	case "rm":
		return pick(c, 'r', "--recursive", 'R', "--recursive", 'f', "--force", 'd', "--dir", 'v', "--verbose")
	case "cp", "mv":
		return pick(c, 'r', "--recursive", 'R', "--recursive", 'f', "--force", 'a', "--archive", 'v', "--verbose")
	case "chmod", "chown", "chgrp":
		return pick(c, 'R', "--recursive", 'f', "--silent", 'v', "--verbose")
	case "curl":
		return pick(c, 'o', "--output", 'O', "--remote-name", 'd', "--data", 'X', "--request", 'T', "--upload-file", 'k', "--insecure", 'L', "--location", 'F', "--form")
	case "sed":
		return pick(c, 'i', "--in-place", 'e', "--expression", 'f', "--file")
	case "docker", "podman":
		return pick(c, 'v', "--volume", 'f', "--force", 'a', "--all", 'i', "--interactive", 't', "--tty")
	case "kubectl":
		return pick(c, 'f', "--filename", 'A', "--all-namespaces", 'n', "--namespace")
	case "git":
		return gitLong(sub, c)
	default:
		return ""
	}
}

func gitLong(sub string, c byte) string {
	switch sub {
	case "push":
		return pick(c, 'f', "--force", 'd', "--delete", 'u', "--set-upstream", 'n', "--dry-run")
	case "clean":
		return pick(c, 'f', "--force", 'n', "--dry-run", 'i', "--interactive")
	case "branch", "tag":
		return pick(c, 'd', "--delete", 'f', "--force")
	case "checkout", "switch", "add", "mv", "worktree":
		return pick(c, 'f', "--force")
	case "commit":
		return pick(c, 'a', "--all", 'm', "--message", 'n', "--no-verify")
	default:
		return pick(c, 'f', "--force")
	}
}

func pick(c byte, pairs ...any) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if letter, ok := pairs[i].(rune); ok && byte(letter) == c {
			name, _ := pairs[i+1].(string)
			return name
		}
	}
	return ""
}

// leadingOperands gives the operands of a program with sub-commands, the
// values of its global options taken out. False: the program, or one of the
// options before the sub-command, is not known.
func leadingOperands(base string, args []string) ([]string, bool) {
	var valued []string
	switch base {
	case "git":
		valued = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"}
	case "docker", "podman":
		valued = []string{"-H", "--host", "-c", "--context", "--config", "-l", "--log-level"}
	case "kubectl":
		valued = []string{"-n", "--namespace", "--context", "--cluster", "--kubeconfig", "--user", "-s", "--server", "--token", "--as"}
	default:
		return nil, false
	}
	known := []string{"-p", "-P", "--paginate", "--no-pager", "--bare", "--no-replace-objects", "--literal-pathspecs", "--no-optional-locks", "-D", "--debug", "--tls"}
	i, sure := 0, true
	for ; i < len(args) && strings.HasPrefix(args[i], "-"); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(valued, name):
			if !joined {
				i++
			}
		case !joined && !slices.Contains(known, args[i]):
			sure = false
		}
	}
	var out []string
	plain := false
	for _, a := range args[min(i, len(args)):] {
		if a == "--" && !plain {
			plain = true
		} else if plain || !strings.HasPrefix(a, "-") {
			out = append(out, a)
		}
	}
	return out, sure
}

// Starts reports whether the program starts others by its arguments, or
// reads a program from them.
func (w *Words) Starts() (string, bool) {
	switch w.base {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "rbash", "busybox", "toybox",
		"env", "xargs", "timeout", "nice", "nohup", "setsid", "stdbuf", "sudo", "doas", "su", "runuser", "time", "watch",
		"script", "strace", "ltrace", "gdb", "ionice", "chrt", "taskset", "chroot", "unshare", "nsenter", "setpriv", "capsh",
		"flock", "parallel", "entr", "ssh", "rsync", "scp", "at", "batch", "crontab", "systemd-run", "docker", "podman",
		"make", "ninja", "npm", "npx", "yarn", "pnpm", "awk", "gawk", "mawk", "nawk", "vi", "vim", "ed", "ex", "emacs", "less", "more", "man":
		return w.base, true
	}
	if strings.HasPrefix(w.base, "ld-linux") || strings.HasPrefix(w.base, "ld-musl") || w.base == "ld.so" {
		return w.base, true
	}
	if w.base == "git" && len(w.leading) > 0 && !gitKnown(w.first()) {
		return w.first(), true
	}
	for _, a := range w.argv[1:] {
		if optionStarts(w.base, w.first(), a) {
			return a, true
		}
	}
	return "", false
}

// gitKnown reports whether git has the sub-command itself, and starts no other
// program for it but hooks. What it does not have may be an alias, and an alias
// may be a script.
func gitKnown(sub string) bool {
	switch sub {
	case "add", "am", "annotate", "apply", "archive", "blame", "branch", "bundle", "cat-file", "check-attr", "check-ignore",
		"check-mailmap", "check-ref-format", "checkout", "checkout-index", "cherry", "cherry-pick", "clean", "clone", "column",
		"commit", "commit-graph", "commit-tree", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree",
		"fetch", "fetch-pack", "fmt-merge-msg", "for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "init",
		"index-pack", "interpret-trailers", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo", "mailsplit", "merge", "merge-base",
		"merge-file", "merge-tree", "mktag", "mktree", "mv", "name-rev", "notes", "pack-objects", "pack-refs", "patch-id", "prune",
		"pull", "push", "range-diff", "read-tree", "rebase", "reflog", "remote", "repack", "replace", "rerere", "reset", "restore",
		"rev-list", "rev-parse", "revert", "rm", "send-pack", "shortlog", "show", "show-branch", "show-index", "show-ref",
		"sparse-checkout", "stash", "status", "stripspace", "switch", "symbolic-ref", "tag", "unpack-objects", "update-index",
		"update-ref", "var", "verify-commit", "verify-pack", "verify-tag", "version", "whatchanged", "worktree", "write-tree":
		return true
	default:
		return false
	}
}

// gitShort reports whether one of the short options in a word names a program:
// rebase -ix, clone -u.
func gitShort(sub, a string) bool {
	if strings.HasPrefix(a, "--") || !strings.HasPrefix(a, "-") {
		return false
	}
	switch sub {
	case "clean", "cherry-pick", "ls-files":
		return false // -x means something else
	case "clone", "fetch-pack":
		return strings.ContainsAny(a, "ux")
	default:
		return strings.Contains(a, "x")
	}
}

// optionStarts reports whether one word makes a program start another.
func optionStarts(base, sub, a string) bool {
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(p string) bool {
			name, _, _ := strings.Cut(a, "=")
			return a == p || name == p || len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(p, name)
		})
	}
	switch base {
	case "find", "fd", "fdfind":
		return has("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch")
	case "git":
		return strings.HasPrefix(a, "-c") || gitShort(sub, a) || strings.HasPrefix(a, "-O") ||
			has("--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--exec", "--ext-diff",
				"--textconv", "--open-files-in-pager", "--run", "--template", "--config")
	case "tar", "bsdtar":
		return strings.HasPrefix(a, "-I") || strings.HasPrefix(a, "-F") || has("--checkpoint-action", "--to-command", "--use-compress-program",
			"--info-script", "--new-volume-script", "--rsh-command", "--rmt-command")
	case "sort":
		return has("--compress-program")
	case "rg":
		return has("--pre", "--hostname-bin", "--search-zip")
	case "sed":
		return !strings.HasPrefix(a, "-") || strings.HasPrefix(a, "-e") || strings.HasPrefix(a, "-f") || has("--expression", "--file")
	case "zip":
		return has("-TT", "--unzip-command")
	case "split":
		return has("--filter")
	default:
		return false
	}
}
