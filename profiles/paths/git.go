package paths

import "strings"

// GitControl reports whether p is a path in a repository that decides what git runs: hooks, configuration,
// those of modules and worktrees, and the file that says where the repository is. Case is ignored, and a
// folder named something.git counts as a repository.
func GitControl(p string) bool {
	parts := strings.Split(strings.ToLower(p), "/")
	for i, part := range parts {
		part = strings.TrimRight(part, ". ")
		if part != ".git" && part != "git~1" && !strings.HasSuffix(part, ".git") {
			continue
		}
		inside := parts[i+1:]
		if len(inside) == 0 {
			if part == ".git" || part == "git~1" {
				return true
			}
			continue
		}
		for at, in := range inside {
			switch strings.TrimRight(in, ". ") {
			case "hooks", "config", "config.worktree", "commondir", "gitdir":
				if at == 0 || inside[0] == "modules" || inside[0] == "worktrees" {
					return true
				}
			case "attributes":
				if at > 0 && inside[at-1] == "info" {
					return true
				}
			}
		}
	}
	return false
}
