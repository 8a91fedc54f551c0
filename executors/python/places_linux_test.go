package python_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"

	"github.com/ringd/ringd/executors/python"
	"github.com/ringd/ringd/executors/python/start"
	"github.com/ringd/ringd/profiles"
)

type fixedEnvironment struct{ env, packages start.Environment }

func (f fixedEnvironment) Of(_ context.Context, a *profiles.Agent) (start.Environment, error) {
	if slices.ContainsFunc(a.Python.Imports.Allow, func(r profiles.ImportRule) bool { return r.Name == "pandas" || r.Name == "numpy" }) || a.Python.Imports.Any != nil {
		return f.packages, nil
	}
	return f.env, nil
}

func environments(t testing.TB, interpreter string) python.Environments {
	t.Helper()
	b, err := exec.CommandContext(t.Context(), interpreter, "-I", "-S", "-c", `import sys, os, json, sysconfig
p = os.path.dirname(os.__file__)
print(json.dumps([os.path.realpath(sys.executable), ".".join(map(str, sys.version_info[:3])), p, p + "/lib-dynload", sysconfig.get_config_var("LIBDIR")]))`).Output()
	if err != nil {
		t.Fatal(err)
	}
	var v []string
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	rules := func(paths ...string) (out []profiles.PathRule) {
		for _, p := range paths {
			out = append(out, profiles.PathRule{Path: p})
		}
		return out
	}
	e := start.Environment{Interpreter: v[0], Version: v[1], Own: rules(v[2], "/usr/share/zoneinfo", "/etc/mime.types"), Code: rules(v[3]), Digest: "d"}
	if interpreter != debian {
		e.Code = append(e.Code, rules(v[4])...)
	}
	p := e
	const d = "/usr/lib/python3/dist-packages/"
	p.Sites, p.Library, p.Digest = []string{"/usr/lib/python3/dist-packages"}, []string{"numpy", "pandas", "dateutil", "pytz", "six"}, "p"
	p.List = rules("/usr/lib/python3/dist-packages")
	p.Own = append(slices.Clone(p.Own), rules(d+"dateutil", d+"pytz", d+"six.py", d+"numpy", d+"pandas")...)
	p.Code = append(slices.Clone(p.Code), rules(d+"numpy", d+"pandas", "/usr/lib/x86_64-linux-gnu")...)
	return fixedEnvironment{e, p}
}
