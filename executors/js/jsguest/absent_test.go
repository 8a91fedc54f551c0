package jsguest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/js/engine"
	"github.com/ringd/ringd/executors/js/jsproto"
	"github.com/ringd/ringd/profiles"
)

func TestAbsent(t *testing.T) {
	two := []string{"postComment", "readDiff"}
	for _, tt := range []struct {
		name      string
		message   string
		reference string
		o         jsproto.Options
		want      string
	}{
		{"a platform's name", "fetch is not defined", "", jsproto.Options{Bridges: two}, "; not granted; this program has: postComment, readDiff"},
		{"without bridges", "document is not defined", "", jsproto.Options{}, "; not granted; this program has no bridges"},
		{"a timer", "setTimeout is not defined", "", jsproto.Options{Bridges: two},
			"; there are no timers: retry at once, or end and be run again later; this program has: postComment, readDiff"},
		{"a misspelled bridge", "postComent is not defined", "", jsproto.Options{Bridges: two}, "; did you mean postComment? this program has: postComment, readDiff"},
		{"a misspelled namespace", "toolz is not defined", "", jsproto.Options{Bridges: []string{"tools.search", "tools.rank"}},
			"; did you mean tools? this program has: tools.search, tools.rank"},
		{"inputs", "input is not defined", "", jsproto.Options{}, "; did you mean inputs? this program has no bridges"},
		{"wrapped", "could not load", "fetch is not defined", jsproto.Options{Bridges: two},
			"; fetch is not defined: not granted; this program has: postComment, readDiff"},
		{"wrapped with its text", "could not load: fetch is not defined", "fetch is not defined", jsproto.Options{Bridges: two},
			"; not granted; this program has: postComment, readDiff"},
		{"a global that the policy denies", "eval is not defined", "", jsproto.Options{Bridges: two, DenyGlobals: []string{"eval"}},
			"; the policy denies this global; this program has: postComment, readDiff"},
		{"modules", "require is not defined", "", jsproto.Options{Modules: map[string]profiles.Module{"zod": {}},
			Imports: profiles.Imports{Allow: []profiles.ImportRule{{Name: "zod"}, {Name: "absent"}}}},
			"; not granted; use import; allowed modules: zod; this program has no bridges"},
		{"what comes with fetch", "URL is not defined", "", jsproto.Options{}, "; it comes with the bridge fetch, which is not granted; this program has no bridges"},

		{"the program's own name", "total is not defined", "", jsproto.Options{Bridges: two}, ""},
		{"a bridge that there is", "fetch is not defined", "", jsproto.Options{Bridges: []string{"fetch"}}, ""},
		{"what the program deleted", "URL is not defined", "", jsproto.Options{Bridges: []string{"fetch"}}, ""},
		{"another message", "fetch is not initialized", "", jsproto.Options{Bridges: two}, ""},
		{"no ReferenceError", "fetch is not defined", "none", jsproto.Options{Bridges: two}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := &engine.Exception{Name: "ReferenceError", Message: tt.message, Reference: tt.reference}
			if tt.reference == "" {
				x.Reference = tt.message
			}
			if got := absent(x, &tt.o); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// However many bridges there are and whatever they are called, a hint stays short.
func TestAbsentIsBounded(t *testing.T) {
	for _, name := range []string{"f%d", strings.Repeat("long", 30) + "%d"} {
		var o jsproto.Options
		for i := range 1000 {
			o.Bridges = append(o.Bridges, fmt.Sprintf(name, i))
		}
		text := "fetch is not defined"
		got := absent(&engine.Exception{Message: text, Reference: text}, &o)
		if len(got) > 700 || !strings.Contains(got, "this program has: ") || !strings.HasSuffix(got, " more") {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
}
