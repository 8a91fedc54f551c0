// A Python guest gets a part of the profile of an agent, with the places of this host. executors/python
// translates it for each run and each push.

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

// Places are the values of a policy's placeholders on this host, or empty, and the current time.
type Places struct {
	Workspace, Home string
	Now             time.Time
}

// ProfileOfAgent is the guard's part of an agent's profile. An agent without the executor may do nothing.
func ProfileOfAgent(a *profiles.Agent, revision string, env Environment, at Places) Profile {
	c := ProfileConfig{Agent: a, Revision: revision, Library: env.Library, Now: at.Now}
	if a != nil && a.Python != nil {
		c.Read, c.Write = files(a, env, at)
	}
	return ProfileOf(c)
}

// files returns the paths that a program may open and write: those that the policy grants, those that the
// interpreter itself needs, and the guest's own folders. The kernel ring decides which of them exist.
func files(a *profiles.Agent, env Environment, at Places) (read, write []string) {
	own := []string{executors.Workspace, "/tmp", "/dev/null"}
	write = append(expand(a.Files.Write, at), own...)
	read = slices.Concat(expand(a.Files.Read, at), write, process(), []string{
		"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full", "/etc/localtime", "/etc/mime.types",
		"/usr/share/zoneinfo",
	})
	for _, r := range slices.Concat(env.Own, env.Code) {
		read = append(read, r.Path)
	}
	return unique(read), unique(write)
}

// process lists the files about its own process that a program may read. It may not read all of /proc/self:
// root and cwd there are links to every other file, and mem is its memory.
func process() []string {
	var out []string
	for _, name := range []string{
		"cgroup", "cmdline", "comm", "environ", "fd", "fdinfo", "io", "limits", "maps", "mountinfo", "mounts",
		"oom_score", "smaps",
		"smaps_rollup", "stat", "statm", "status",
	} {
		out = append(out, "/proc/self/"+name)
	}
	return out
}

// expand expands the folders of a policy. A placeholder without a value here is left out: it is not granted.
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
