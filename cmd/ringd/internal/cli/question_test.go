package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/cli"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

var questionTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func question(args string) cli.Question {
	expires := questionTime.Add(90 * time.Minute)
	return cli.Question{
		Run: "r1", Agent: "mailer", Now: questionTime,
		Rule: &profiles.Rule{File: "policy.yaml", Line: 12, Column: 5, Path: "spec.bridges[0].approval"},
		Pending: wire.Pending{
			ID: "c3", Bridge: "sendEmail", Args: json.RawMessage(args), For: "approver",
			Digest:  "sha256:" + strings.Repeat("ab", 32),
			Expires: &expires, From: []string{"group:leads@acme.example", "user:cto@acme.example"}, Count: 2,
			Approvals: []wire.Approved{{By: "uid:1001", As: "group:leads@acme.example"}},
		},
	}
}

func TestQuestion(t *testing.T) {
	var b bytes.Buffer
	whole := cli.Page{W: &b}.Question(question(`{"to":"ada@acme.example","text":"hello"}`))
	want := `sendEmail waits for an approval
  run      r1, call c3, agent mailer
  does     sendEmail({
             "to": "ada@acme.example",
             "text": "hello"
           })
  digest sha256:abababababababababababababababababababababababababababababababab
  rule     policy.yaml:12:5 spec.bridges[0].approval
  from     2 of group:leads@acme.example, user:cto@acme.example, approved by 
           uid:1001 as group:leads@acme.example
  until    2026-11-21T13:30:00Z (90 minutes left)
`
	if diff := cmp.Diff(want, strings.ReplaceAll(b.String(), "           \n", "\n")); diff != "" || !whole {
		t.Errorf("whole %v: %s", whole, diff)
	}
}

// What a program puts into its arguments cannot move the cursor, hide text or
// pass for another line of the question.
func TestQuestionIsNotForged(t *testing.T) {
	for _, tt := range []struct{ name, args, want string }{
		{"escape", `"\u001b[2J\u001b[H"`, `\u001b[2J`},
		{"raw escape", "\"\x1b[8m\"", `\u001b[8m`},
		{"raw newline in what is no JSON", "x\n  digest   sha256:00", "x"},
		{"turned around", "\"a\u202eb\"", `a\u202eb`},
		{"no width", "\"pay\u200bpal\"", `pay\u200bpal`},
		{"tag characters", "\"a\U000e0041\"", `a\udb40\udc41`},
		{"carriage return", "\"a\rb\"", `a\u000db`},
		{"letters that are blank", "\"a\u3164\u115f\uffa0b\"", `a\u3164\u115f\uffa0b`},
		{"braille that is blank", "\"a\u2800b\"", `a\u2800b`},
		{"variation selectors", "\"a\ufe0f\U000e0100\u180bb\"", `a\ufe0f\udb40\udd00\u180bb`},
		{"a joiner that is a mark", "\"a\u034fb\"", `a\u034fb`},
		{"a stroke through a digit", "\"1\u0338000\"", `"1\u0338000"`},
		{"a circle around a quote", "\"a\"\u20dd", `"\u20dd`},
		{"many marks", "\"e" + strings.Repeat("\u0301", 5) + "\"", "e\u0301\u0301\u0301" + `\u0301\u0301"`},
		{"words of other scripts", "\"é e\u0301 नमस्ते 你好 שלום\"", "é e\u0301 नमस्ते 你好 שלום"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			cli.Page{W: &b}.Question(question(tt.args))
			got := b.String()
			if !strings.Contains(got, tt.want) {
				t.Errorf("want %q in %q", tt.want, got)
			}
			if strings.ContainsAny(got,
				"\x1b\r\u202e\u200b\U000e0041\u3164\u115f\uffa0\u2800\ufe0f\U000e0100\u180b\u034f\u0338\u20dd") {
				t.Errorf("sent raw: %q", got)
			}
			n := 0
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "  digest sha256:") {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d lines pass for the digest", n)
			}
		})
	}
}

func command(t *testing.T, a profiles.ExecAction) cli.Question {
	t.Helper()
	args, err := json.Marshal(profiles.Action{Exec: &a})
	if err != nil {
		t.Fatal(err)
	}
	q := question(string(args))
	q.Pending.Bridge = "exec:/usr/bin/git"
	return q
}

// The start of a program is a command line: words that cannot be mistaken for others
// or for more of them, where it is started, and what it is given.
func TestQuestionOfACommand(t *testing.T) {
	var b bytes.Buffer
	whole := cli.Page{W: &b}.Question(command(t, profiles.ExecAction{
		Argv: []string{"git", "push", "origin", "my branch", "it's", "", "$(x)", "a\u001bb", "c\x1b[2J'\\", "\u202e",
			"~"},
		Cwd: "/workspace/a b", Env: []string{"GIT_TRACE=1", "X=two words"},
	}))
	want := `exec:/usr/bin/git waits for an approval
  run      r1, call c3, agent mailer
  does     git push origin 'my branch' 'it'\''s' '' '$(x)' $'a\u001bb' 
           $'c\u001b[2J\'\\' $'\u202e' '~'
  program  /usr/bin/git
  in       '/workspace/a b'
  with     GIT_TRACE=1
           'X=two words'
  digest `
	if got, _, _ := strings.Cut(b.String(), "sha256:"); !whole || got != want {
		t.Errorf("whole %v: %s", whole, cmp.Diff(want, got))
	}
}

func TestQuestionOfALongCommand(t *testing.T) {
	for _, a := range []profiles.ExecAction{
		{Argv: []string{"git", strings.Repeat("é", 20000)}},
		{Argv: []string{"git", strings.Repeat("x ", 4000), "y"}, Env: []string{"A=" + strings.Repeat("\x01", 4000)}},
	} {
		var b bytes.Buffer
		whole := cli.Page{W: &b}.Question(command(t, a))
		if whole || !strings.Contains(b.String(), "bytes are not shown") || b.Len() > 32<<10 ||
			!strings.Contains(b.String(), "  until  ") {
			t.Errorf("whole %v, %d bytes", whole, b.Len())
		}
	}
	// What is no start of a program that ringd could decide is shown as it came.
	var b bytes.Buffer
	q := question(`{"exec":{"argv":["git"],"more":1}}`)
	q.Pending.Bridge = "exec:/usr/bin/git"
	if whole := (cli.Page{W: &b}).Question(q); !whole || !strings.Contains(b.String(), `"more": 1`) {
		t.Errorf("%s", b.String())
	}
}

// A question sends people to the JSON for long arguments: it is the same value,
// and no text in it is hidden or turned around.
func TestJSONHidesNothing(t *testing.T) {
	want := map[string]any{"a\u202eb": "\u009b31m \u200b\u3164\U000e0041 \u007f é 你好 😀 <&> \\u202e \" \n \u2028",
		"n": 1.5}
	var b bytes.Buffer
	if err := cli.JSON(&b, want); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\u202e\u009b\u200b\u3164\U000e0041\u007f\u2028") ||
		!strings.Contains(b.String(), "é 你好 😀 <&>") {
		t.Errorf("%q", b.String())
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
}

func TestQuestionIsNarrow(t *testing.T) {
	var b bytes.Buffer
	text := strings.Repeat("wide ", 400) + strings.Repeat("x", 300)
	cli.Page{W: &b}.Question(question(`{"text":"` + text + `"}`))
	if strings.Count(b.String(), "wide ") != 400 {
		t.Error("folding lost words")
	}
	// What the terminal folds by itself begins where the names of the lines stand.
	cli.Page{W: &b}.Question(
		question(`{"text":"` + strings.Repeat("你", 200) + " digest " + strings.Repeat("好😀", 90) + `"}`))
	for line := range strings.Lines(b.String()) {
		columns := 0
		for _, r := range strings.TrimRight(line, "\n") {
			if columns++; r > 0x2e80 { // shown twice as wide
				columns++
			}
		}
		if columns > 80 {
			t.Errorf("%d columns: %q", columns, line)
		}
	}
}

// A question that does not show everything says so.
func TestQuestionSaysWhatIsMissing(t *testing.T) {
	var b bytes.Buffer
	whole := cli.Page{W: &b}.Question(question(`"` + strings.Repeat("é", 20000) + `"`))
	if whole || !strings.Contains(b.String(), "bytes are not shown") {
		t.Errorf("whole %v: %q", whole, b.String()[max(0, b.Len()-600):])
	}
}
