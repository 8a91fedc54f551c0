package argv

// Lines gives the tables to the tests, by whose options they are.
func Lines() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"git", "docker", "kubectl", "npm", "pip", "cargo", "go", "terraform", "helm", "systemctl", "apt", "gh", "aws", "gcloud", "brew"} {
		t, _ := commander(name)
		out[name+" global"], out[name+" sub"] = t.global, t.sub("delete")
	}
	for _, name := range []string{"run", "exec", "build", "logs", "ps", "compose", "rm"} {
		out["docker "+name] = dockerOptions(name)
	}
	out["kubectl logs"] = toolOf("kubectl").sub("logs")
	for _, name := range []string{"add", "am", "apply", "archive", "bisect", "blame", "branch", "bundle", "checkout", "cherry-pick", "clean", "clone", "commit", "config", "describe", "diff", "fetch", "for-each-ref", "format-patch", "gc", "grep", "init", "log", "ls-files", "ls-remote", "ls-tree", "merge", "mv", "notes", "prune", "pull", "push", "rebase", "reflog", "remote", "repack", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog", "show-branch", "sparse-checkout", "stash", "status", "submodule", "switch", "tag", "update-index", "update-ref", "worktree"} {
		out["git "+name] = gitOptions(name)
	}
	for _, name := range []string{"rm", "cp", "mv", "ln", "mkdir", "rmdir", "chmod", "chown", "chgrp", "ls", "cat", "head", "tail", "sort", "uniq", "wc", "cut", "tr", "tee", "touch", "stat", "du", "df", "date", "truncate", "shred", "install", "mktemp", "split", "dd", "grep", "sed", "find", "xargs", "tar", "gzip", "xz", "zip", "unzip", "curl", "wget", "ssh", "scp", "rsync", "make", "diff", "jq", "rg", "ps", "kill", "pkill", "killall", "dpkg", "sh", "sudo", "env", "timeout", "nice", "stdbuf", "crontab", "sqlite3", "node", "python3"} {
		out[name] = toolOf(name).global
	}
	return out
}

// Find is find.
func Find(spec, name string) string { return find(spec, name) }
