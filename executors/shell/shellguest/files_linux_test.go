// In the package: what a path leads to is nobody else's business.
package shellguest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes files (text), folders (ending in /) and links (-> target).
func tree(t *testing.T, entries map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, what := range entries {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		to, link := strings.CutPrefix(what, "-> ")
		switch {
		case link:
			err = os.Symlink(strings.ReplaceAll(to, "ROOT", root), p)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(p, 0o755)
		default:
			err = os.WriteFile(p, []byte(what), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRealPath(t *testing.T) {
	root := tree(t, map[string]string{
		"work/a": "a", "work/sub/b": "b", "out/secret": "s",
		"work/in": "-> sub/b", "work/abs": "-> ROOT/work/sub", "work/away": "-> ../out/secret", "work/dir": "-> ../out",
		"work/new": "-> ../out/made", "work/loop": "-> loop", "work/two": "-> in", "work/up": "-> ROOT/out/../work/a",
	})
	for _, tt := range []struct{ path, want string }{
		{"work/a", "work/a"},
		{"work/./a", "work/a"},
		{"work//a", "work/a"},
		{"work/nothing", "work/nothing"},
		{"work/in", "work/sub/b"},
		{"work/two", "work/sub/b"},
		{"work/abs/b", "work/sub/b"},
		{"work/abs/new", "work/sub/new"},
		{"work/away", "out/secret"},
		{"work/dir/secret", "out/secret"},
		{"work/new", "out/made"}, // a link to what is not there would be made there
		{"work/dir/../a", "a"},   // of the folder that the link leads to
		{"work/sub/../a", "work/a"},
		{"work/up", "work/a"},
		{"work/loop", ""},
		{"work/nothing/x", ""},
		{"work/a/x", ""},
	} {
		got, err := realPath(root + "/" + tt.path)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s leads to %s", tt.path, got)
			}
			continue
		}
		if want := filepath.Join(root, tt.want); err != nil || got != want {
			t.Errorf("%s leads to %s, %v; want %s", tt.path, got, err, want)
		}
	}
}

// What was decided is opened, and nothing that has come in its place.
func TestOpenReal(t *testing.T) {
	root := tree(t, map[string]string{
		"work/a": "a", "out/a": "secret", "link": "-> work", "work/away": "-> ../out/a", "work/dir/": "",
	})
	for _, p := range []string{"link/a", "work/away", "work/none/a", "work/a/a"} {
		if f, err := openReal(filepath.Join(root, p), os.O_RDONLY, 0); err == nil {
			t.Errorf("%s was opened: %s", p, f.Name())
		}
		if f, err := openReal(filepath.Join(root, p), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666); err == nil {
			t.Errorf("%s was opened to write: %s", p, f.Name())
		}
	}
	if b, err := os.ReadFile(filepath.Join(root, "out/a")); err != nil || string(b) != "secret" {
		t.Errorf("the file outside is %q, %v", b, err)
	}
	f, err := openReal(filepath.Join(root, "work/new"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil || f.Close() != nil {
		t.Error(err)
	}
	// That links do lead away where nobody looks shows that the test can fail.
	if b, err := os.ReadFile(filepath.Join(root, "work/away")); err != nil || string(b) != "secret" {
		t.Errorf("%q %v", b, err)
	}
}

// A folder that git takes for a repository, or would, has what decides there what git
// runs, in whatever order both come; another one has files of the same names.
func TestSteersGit(t *testing.T) {
	root := tree(t, map[string]string{
		"bare/HEAD": "ref: x", "bare/objects/": "", "bare/refs/": "", "lower/head": "x", "linked/HEAD": "-> ../bare/HEAD",
		"conf/config": "x", "hooked/hooks/": "", "hung/hooks": "-> ../hooked/hooks", "rails/config/a": "x", "plain/a": "a",
	})
	for p, want := range map[string]bool{
		"bare/config": true, "bare/CONFIG": true, "bare/hooks/pre-commit": true, "bare/Hooks/a/b": true, "bare/commondir": true, "bare/gitdir": true, "bare/config.worktree": true, "bare/info/attributes": true,
		"lower/config": true, "linked/config": true, "conf/HEAD": true, "conf/head": true, "hooked/HEAD": true, "hung/HEAD": true,
		"plain/config": false, "plain/hooks/list": false, "plain/HEAD": false, "rails/HEAD": false, "rails/config/HEAD": false, "rails/config/database": false,
		"bare/a": false, "bare/docs/config": false, "bare/configs": false, "bare/hooks": false, "none/config": false, "conf/config": false,
	} {
		if got := steersGit(filepath.Join(root, p)); got != want {
			t.Errorf("%s: %t", p, got)
		}
	}
}
