// This file makes what a Python guest is told of the profile of an agent and
// the places of this host. It is pure; executors/python calls it for each run and
// each push.

package pyproto

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
)

// Places are what the folders of a policy stand for on this host, "" nothing, and the
// time there.
type Places struct {
	Workspace, Home string
	Now             time.Time
}

// ProfileOfAgent is the guard's half of what an agent may do. An agent without the executor
// may do nothing.
func ProfileOfAgent(a *profiles.Agent, revision string, env Environment, at Places) Profile {
	c := ProfileConfig{Agent: a, Revision: revision, Library: env.Library, Now: at.Now}
	if a != nil && a.Python != nil {
		c.Read, c.Write = files(a, env, at)
	}
	return ProfileOf(c)
}

// files are what a program may open and write to: what the policy grants, what the
// interpreter itself needs, and the guest's own folders. Which of it is there the
// kernel ring says.
func files(a *profiles.Agent, env Environment, at Places) (read, write []string) {
	own := []string{executors.Workspace, "/tmp", "/dev/null"}
	write = append(expand(a.Files.Write, at), own...)
	read = slices.Concat(expand(a.Files.Read, at), write, process(), []string{
		"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full", "/etc/localtime", "/etc/mime.types", "/usr/share/zoneinfo",
	})
	for _, r := range slices.Concat(env.Own, env.Code) {
		read = append(read, r.Path)
	}
	return unique(read), unique(write)
}

// process lists what a program may know of its own process. Of /proc/self as a whole
// it may not: root and cwd there are links to every other file, and mem is its memory.
func process() []string {
	var out []string
	for _, name := range []string{
		"cgroup", "cmdline", "comm", "environ", "fd", "fdinfo", "io", "limits", "maps", "mountinfo", "mounts", "oom_score", "smaps",
		"smaps_rollup", "stat", "statm", "status",
	} {
		out = append(out, "/proc/self/"+name)
	}
	return out
}

// expand writes the folders of a policy out. A place that stands for nothing here
// is left out: it is not granted.
func expand(rules []profiles.PathRule, at Places) []string {
	out := make([]string, 0, len(rules))
	for _, r := range rules {
		p := r.Path
		for name, to := range map[string]string{"$WORKSPACE": at.Workspace, "~": at.Home} {
			rest, ok := strings.CutPrefix(p, name)
			if ok && (rest == "" || rest[0] == '/') {
				if p = ""; to != "" {
					p = path.Join(to, rest)
				}
				break
			}
		}
		if path.IsAbs(p) {
			out = append(out, path.Clean(p))
		}
	}
	return out
}

func unique(l []string) []string {
	slices.Sort(l)
	return slices.Compact(l)
}

// BridgesOf lists the names that a program finds in ringd.tools, sorted.
func BridgesOf(a *profiles.Agent) []string {
	out := []string{}
	for name, b := range a.Bridges {
		if len(b.Executors) == 0 || slices.Contains(b.Executors, profiles.ExecutorPython) {
			out = append(out, cmp.Or(b.Name, name))
		}
	}
	return unique(out)
}
