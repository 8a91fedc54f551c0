package paths_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles/paths"
)

func TestCover(t *testing.T) {
	for _, tt := range []struct {
		set          []string
		path         string
		cover, above bool
	}{
		{nil, "/a", false, false},
		{[]string{"/a"}, "/a", true, false},
		{[]string{"/a"}, "/a/b/c", true, true},
		{[]string{"/a"}, "/ab", false, false},
		{[]string{"/a/b"}, "/a", false, false},
		{[]string{"/"}, "/", true, false},
		{[]string{"/"}, "/a", true, true},
		{[]string{"/"}, "~", true, true},
		{[]string{"/"}, "$WORKSPACE/a", true, true},
		{[]string{"~"}, "~/a", true, true},
		{[]string{"~"}, "/home/a", false, false},
		{[]string{"$WORKSPACE"}, "$WORKSPACEs/a", false, false},
	} {
		s := paths.Of(tt.set...)
		if c, a := s.Cover(tt.path), s.Above(tt.path); c != tt.cover || a != tt.above {
			t.Errorf("%q over %q: cover %v, above %v", tt.set, tt.path, c, a)
		}
	}
	if s := (paths.Set)(nil); s.Cover("/") || s.Has("/") || !s.CoverAll(nil) || s.CoverAll([]string{"/"}) ||
		s.HasAll([]string{"/"}) {
		t.Error("the nil Set covers something")
	}
}

func TestTopmost(t *testing.T) {
	got := paths.Of("/d").Topmost([]string{"/b", "/a/c", "/a", "/a", "/d/x", "/ab", "~/x", "~"})
	if diff := cmp.Diff([]string{"/a", "/ab", "/b", "~"}, got); diff != "" {
		t.Error(diff)
	}
	if got := paths.Of().Topmost(nil); got == nil || !slices.Equal(got, []string{}) {
		t.Errorf("Topmost of nothing is %#v", got)
	}
}

func TestOutsideAndAmbiguous(t *testing.T) {
	denied := paths.Of("/x")
	list := []string{"/b/git", "/x/tar", "/a/git", "/a/tar", "/b/git", "/c/ls"}
	if got, want := denied.Outside(list), []string{"/a/git", "/a/tar", "/b/git", "/c/ls"}; !slices.Equal(got, want) {
		t.Errorf("Outside = %q, want %q", got, want)
	}
	if got, want := denied.Ambiguous(list), []string{"git=/b/git"}; !slices.Equal(got, want) {
		t.Errorf("Ambiguous = %q, want %q", got, want)
	}
	if got := paths.Of().Outside(nil); got == nil || len(got) > 0 {
		t.Errorf("Outside of nothing = %#v", got)
	}
}
