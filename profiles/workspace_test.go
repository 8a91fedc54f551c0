package profiles_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
)

// TestIn: $WORKSPACE is written out for each agent by itself, in every list and in what
// mode audit would enforce; an agent without a workspace keeps its rules, which grant
// nothing, and the set that was given stays as it was.
func TestIn(t *testing.T) {
	files := func(dir string) profiles.Files {
		return profiles.Files{
			Read: []profiles.PathRule{{Path: dir + "/data", Within: []string{dir, "/srv"}}, {Path: "/usr"},
				{Path: "$WORKSPACES/x"}},
			Write: []profiles.PathRule{{Path: dir}}, Deny: []profiles.PathRule{{Path: dir + "/.env"}, {Path: "~/.ssh"}},
		}
	}
	agent := func(name, dir string) profiles.Agent {
		strict := profiles.Agent{Name: name, Python: &profiles.Python{}, Files: files(dir)}
		a := strict
		a.Strict = &strict
		return a
	}
	set := func(a, b, c string) *profiles.Set {
		return &profiles.Set{Revision: "r", Agents: map[string]profiles.Agent{
			"a": agent("a", a), "b": agent("b", b), "c": agent("c", c)}}
	}
	given := set("$WORKSPACE", "$WORKSPACE", "$WORKSPACE")
	got := given.In(func(agent string) string { return map[string]string{"a": "/ws/a", "b": "/ws/b/../a"}[agent] })
	if diff := cmp.Diff(set("/ws/a", "$WORKSPACE", "$WORKSPACE"), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(set("$WORKSPACE", "$WORKSPACE", "$WORKSPACE"), given); diff != "" {
		t.Error("the set that was given:", diff)
	}
	read := profiles.Action{File: &profiles.FileAction{Op: "read", Path: "/ws/a/data/x"}}
	for name, want := range map[string]profiles.Verdict{"a": profiles.Allow, "b": profiles.Deny, "c": profiles.Deny} {
		if d := got.Decider(name, profiles.Environment{Home: "/home/x"}).Decide(read); d.Verdict != want {
			t.Errorf("%s: %s, want %s", name, d.Verdict, want)
		}
	}
	for name, want := range map[string]bool{"a": false, "b": true} {
		if _, needs := got.Agents[name].NeedsWorkspace(profiles.ExecutorPython); needs != want {
			t.Errorf("%s needs a workspace: %t", name, needs)
		}
	}
	if _, needs := given.Agents["a"].NeedsWorkspace(profiles.ExecutorJS); needs {
		t.Error("a JavaScript guest has no files")
	}
	if (*profiles.Set)(nil).In(nil) != nil || given.In(nil) != given {
		t.Error("no set, or no workspace")
	}
}
