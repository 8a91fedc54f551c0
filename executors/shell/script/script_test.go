package script_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ringd/ringd/executors/shell/script"
	"github.com/ringd/ringd/profiles"
)

func TestUnsupported(t *testing.T) {
	tests := []struct{ key, bad, good string }{
		{"arithmetic.element", "((a[1]++))", "((a++)); a[1]=$((a[1] + 1))"},
		{"arithmetic.element", "echo $((a[i] += 2))", "echo $((a[i] + 2))"},
		{"array.default", `echo "${a[@]:-none}"`, `echo "${a[@]:-}" "${a:-none}" ${a[0]:-x} "${a[@]+"${a[@]}"}"`},
		{"brace.after", "echo $HOME{a,b}", "echo ${HOME}{a,b} $x{ \"$x{a,b}\""},
		{"brace.size", "echo {1..20000}", "echo {1..200} {a,b}{c,d}"},
		{"brace.size", strings.Repeat("echo {1..10000}\n", 2), strings.Repeat("echo {1..8000}\n", 2)},
		{"brace.size", "echo {9223372036854775806..9223372036854775807}", "echo {2147483646..2147483647} {-3..3} {10..1..3}"},
		{"brace.size", "echo " + strings.Repeat("{a,b}", 15), "echo " + strings.Repeat("{a,b}", 6)},
		{"brace.size", "echo " + strings.Repeat("{", 100), "echo '" + strings.Repeat("{", 100) + "'"},
		{"cd.option", "cd -e x", "cd -- x; cd -P x; cd -"},
		{"comment.continued", "ls # a \\\nrm x", "ls a \\\n  b # c\ncat <<'E'\n# x \\\nE\necho 'a # b \\\n' \\\n # c"},
		{"coproc", "coproc cat", "cat & wait"},
		{"declare.integer", "declare -i n=1", "declare -a n=(1); declare -r m=1; local_=1"},
		{"declare.integer", "f() { local -ri n=1; }", "f() { local -r n=1; }"},
		{"declare.letters", "declare -l x=A", "declare x=A; echo ${x,,}"},
		{"declare.function", "declare -F f", "declare -f f"},
		{"declare.function", "export -f f", "export f"},
		{"declare.print", "export -p", "declare -p HOME"},
		{"declare.unexport", "export -n A", "export A; declare -n r=A"},
		{"extglob.word", "ls !(a)", "[[ $x == !(a) ]]; case $x in @(a|b)) ;; esac; ls '!(a)'"},
		{"extglob.word", "echo ${x%%+(a)}", "echo ${x%%a*}"},
		{"heredoc.delimiter", "cat <<E'OF'\nx\nEOF\n", "cat <<'EOF'\nx\nEOF\ncat <<\\E\nx\nE\n"},
		{"let.quoted", `let "x=$y"`, `let "x = 1 + 2" y=x+1`},
		{"parameter.anchor", "echo ${x/#a/b}", "echo ${x/a/b} ${x#a} ${x/\\#a/b}"},
		{"parameter.anchor", "echo ${x/%a/b}", "echo ${x//a}"},
		{"parameter.elements", "x='a[@]'; echo ${!x}", "x='a[@]'; echo $x"},
		{"parameter.transform", `echo "${x@P}"`, `echo "${x@Q}" ${x@U}`},
		{"procsubst.output", "tee >(cat)", "cat <(ls)"},
		{"redirect.dup", "cat <&3", "cat <&0; ls >&2; ls 2>&1"},
		{"redirect.dup", "ls >&$fd", "ls >&-"},
		{"redirect.fd", "exec 3>f", "exec >f 2>g"},
		{"redirect.fd", "ls 10>&1", "ls 1>&2"},
		{"redirect.readwrite", "cat <>f", "cat <f >g"},
		{"redirect.variable", "exec {fd}>f", "echo {fd} >f"},
		{"set.option", "set -C", "set -euo pipefail; set +H; set -E; set -- -C"},
		{"set.option", "set -o posix", "set -o errexit -o nounset"},
		{"set.print", "set", "set --"},
		{"set.print", "set -o", "set -o pipefail"},
		{"shopt.option", "shopt -s lastpipe", "shopt -s nullglob globstar; shopt -s inherit_errexit"},
		{"shopt.print", "shopt -q nullglob", "shopt -u nullglob"},
		{"string.code", "x='$(id)'; echo $((x))", "x='$(id)'; echo \"$x\""},
		{"string.code", "x='a[$(id)]'", "x='a[1]'"},
		{"string.code", "read 'a[`id`]'", "read a"},
		{"string.code", "declare 'a[$(id)]=1'", "declare 'a=1'"},
		{"test.code", "[[ -v a[1] ]]", "[[ -v a ]]"},
		{"test.number", "[[ 1+1 -eq 2 ]]", "[[ 2 -eq 2 && $x -gt -1 && x -lt 010 ]]"},
		{"test.pattern", `[[ $x =~ "$y" ]]`, `[[ $x =~ $y && $x =~ "a.b" && $x == "$y"* ]]`},
		{"trap.exit", "(trap 'ls' EXIT)", "trap 'ls' EXIT; (trap - EXIT)"},
		{"trap.exit", "x=$(trap ls 0)", "x=$(ls)"},
		{"trap.option", "trap -p", "trap -- ls EXIT"},
		{"trap.signal", "trap ls DEBUG", "trap ls ERR INT TERM SIGHUP 15"},
		{"variable", "echo ${FUNCNAME[0]}", "f() { echo \"${FUNCNAME[0]}\" $FUNCNAME; }"},
		{"variable", "f() { echo ${FUNCNAME[1]}; }", "f() { g() { echo ${FUNCNAME[0]}; }; }"},
		{"variable", "f() { echo ${FUNCNAME[@]} ${#FUNCNAME}; }", "f() { (echo ${FUNCNAME}); }"},
		{"variable", "(( SECONDS > 5 ))", "ls | wc; (( PIPESTATUS[0] > 1 ))"},
		{"variable", "ls | wc; x=1; echo ${PIPESTATUS[0]}", "ls | wc; x=${PIPESTATUS[0]} y=${PIPESTATUS[1]}"},
		{"variable", "ls | wc; f() { echo ${PIPESTATUS[0]}; }; f", "ls | wc; { echo ${PIPESTATUS[0]}; }"},
		{"variable", "ls | wc; while [ ${PIPESTATUS[0]} = 0 ]; do x; done", "ls | wc; if [ ${PIPESTATUS[0]} = 0 ]; then x; fi"},
		{"variable", "ls | wc; true && echo ${PIPESTATUS[0]}", "ls | wc; echo ${PIPESTATUS[0]} && true"},
		{"variable", "ls | wc & echo ${PIPESTATUS[0]}", "ls | wc; case ${PIPESTATUS[0]} in 0) ;; esac"},
		{"variable", "ls $? | wc; echo ${PIPESTATUS[0]}", "ls | wc; echo $? ${PIPESTATUS[0]}"},
		{"variable", "ls | wc; echo $(ls) ${PIPESTATUS[0]}", "! ls | wc; exit ${PIPESTATUS[0]}"},
		{"variable", "echo ${PIPESTATUS[0]}", "echo $RANDOM $LINENO ${BASH_SOURCE[0]} $UID"},
		{"variable", "mkdir x && cd $_", "read -r _ x"},
	}
	known := map[string]bool{}
	for _, u := range script.Unsupported() {
		known[u.Key] = false
	}
	for _, tt := range tests {
		known[tt.key] = true
		s, r := script.Parse(tt.bad)
		if s != nil || r == nil || r.Key != tt.key || r.Line == 0 || r.Column == 0 {
			t.Errorf("%q: %+v, want %s with a place", tt.bad, r, tt.key)
		}
		if s, r := script.Parse(tt.good); r != nil || s == nil {
			t.Errorf("%q: %v, want a script", tt.good, r)
		}
	}
	for key, tested := range known {
		if !tested && key != "node" { // no text that the parser takes leads there
			t.Errorf("%s has no test", key)
		}
	}
	if !slices.IsSortedFunc(script.Unsupported(), func(a, b script.Construct) int {
		return strings.Compare(a.Key, b.Key)
	}) {
		t.Error("the list is not sorted")
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		code       profiles.Code // "": a script
		line, col  int
	}{
		{"empty", "", "", 0, 0},
		{"only a comment", "# ls\n", "", 0, 0},
		{"CRLF", "ls\r\nls -l\r\n", "", 0, 0},
		{"bytes that are no UTF-8", "echo 'a\xff\xfeb'", profiles.CodeShellParse, 1, 8},
		{"an open quote", "ls\nls 'x", profiles.CodeShellParse, 2, 4},
		{"an open substitution", "ls $(", profiles.CodeShellParse, 1, 4},
		{"a NUL byte", "ls\nl\x00s", profiles.CodeShellParse, 2, 2},
		{"as long as may be", "ls #" + strings.Repeat("x", script.MaxBytes-4), "", 0, 0},
		{"too long", "ls #" + strings.Repeat("x", script.MaxBytes-3), profiles.CodeShellSize, 0, 0},
		{"many parentheses in quotes", "echo '" + strings.Repeat("(", 5000) + "'", "", 0, 0},
		{"many parentheses in double quotes", `echo "` + strings.Repeat("(", 5000) + `"`, "", 0, 0},
		{"many parentheses in a here-document", "cat <<'E'\n" + strings.Repeat("$((", 5000) + "\nE\n", "", 0, 0},
		{"many parentheses in a comment", "ls #" + strings.Repeat("$(", 5000), "", 0, 0},
		{"many braces in quotes", "echo '" + strings.Repeat("{", 5000) + "'", "", 0, 0},
		{"a long chain", strings.Repeat("ls && ", 8000) + "ls", "", 0, 0},
		{"a long pipe", strings.Repeat("ls | ", 8000) + "ls", "", 0, 0},
		{"a long sum", "echo $((" + strings.Repeat("1+", 20000) + "1))", "", 0, 0},
		{"a long test", "[[ " + strings.Repeat("a && ", 500) + "a ]]", "", 0, 0},
		{"many branches", "if a; then b" + strings.Repeat("; elif a; then b", 3000) + "; fi", "", 0, 0},
		{"many functions", strings.Repeat("f() { ls; }\n", 5000), "", 0, 0},
		{"many here-documents", strings.Repeat("cat <<A\nx\nA\n", 5000), "", 0, 0},
		{"quotes that hide what closes", strings.Repeat(`echo $(: ")" `, 5000), profiles.CodeShellSize, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, r := script.Parse(tt.text)
			switch {
			case tt.code == "" && (r != nil || s == nil || s.Text != tt.text):
				t.Fatalf("got %v, want a script", r)
			case tt.code != "" && (r == nil || r.Code != tt.code || r.Line != tt.line || r.Column != tt.col):
				t.Fatalf("got %+v, want %s at %d:%d", r, tt.code, tt.line, tt.col)
			}
		})
	}
}

// Nesting of every form is refused in the end, and a reader's depth is not.
func TestDepth(t *testing.T) {
	for _, f := range [][4]string{
		{"(", "a", ")", ""}, {"{ ", "a", ";}", ""}, {"echo $(", "a", ")", ""}, {"echo \"$(", "a", ")\"", ""}, {"<(", "a", ")", "echo "},
		{"if a;then ", "a", ";fi", ""}, {"if a;then a;else ", "a", ";fi", ""}, {"while a;do ", "a", ";done", ""}, {"for i in a;do ", "a", ";done", ""},
		{"case a in a) ", "a", ";;esac", ""}, {"f(){ ", "a", ";}", ""}, {"time ", "a", "", ""}, {"${a:-", "b", "}", "echo "}, {"\"${a:-", "b", "}\"", "echo "},
		{"${a/", "b", "}", "echo "}, {"${a:", "1", "}", "echo "}, {"${a[", "1", "]}", "echo "}, {"$((", "1", "))", "echo "}, {"(", "1", ")", "echo $((1+"},
		{"( ", "a", " )", "[[ "}, {"! ", "a", "", "[[ "}, {"a=", "1", "", "echo $(("}, {"1?2:", "3", "", "echo $(("}, {"-", "1", "", "echo $((1"},
		{"cat <<E\n$(", "a", "\n)\nE\n", ""}, {"[[ -n $(", "a", ") ]]", ""},
	} {
		text := func(n int) string {
			end := ""
			switch f[3] {
			case "[[ ":
				end = " ]]"
			case "echo $((", "echo $((1+", "echo $((1":
				end = "))"
			}
			return f[3] + strings.Repeat(f[0], n) + f[1] + strings.Repeat(f[2], n) + end
		}
		if f[0] == "-" { // -- is another operator
			f[0] = "- "
		}
		if _, r := script.Parse(text(40)); r != nil {
			t.Errorf("%q 40 deep: %v", f[0], r)
		}
		sizes := []int{250, 1000}
		if f[0] == "(" || f[0] == "echo $(" || f[0] == "$((" { // the forms that cost most
			sizes = append(sizes, (script.MaxBytes-20)/(len(f[0])+len(f[2])))
		}
		for _, n := range sizes {
			_, r := script.Parse(text(n))
			if r == nil || r.Code != profiles.CodeShellSize && f[0] != "cat <<E\n$(" {
				t.Errorf("%q %d deep: %+v, want %s", f[0], n, r, profiles.CodeShellSize)
			}
			if n == 250 && (r == nil || r.Line == 0) {
				t.Errorf("%q %d deep: %+v, want the tree to be refused, not the parser's stack", f[0], n, r)
			}
			if _, r := script.Parse(f[3] + strings.Repeat(f[0], n)); r == nil && f[2] != "" {
				t.Errorf("%q %d times, not closed: want a refusal", f[0], n)
			}
		}
	}
}

func TestSignal(t *testing.T) {
	for word, want := range map[string]string{
		"EXIT": "EXIT", "0": "EXIT", "SIGEXIT": "EXIT", "exit": "EXIT", "ERR": "ERR", "INT": "IGNORED", "SIGTERM": "IGNORED", "15": "IGNORED",
		"DEBUG": "", "RETURN": "", "KILL": "", "9": "", "x": "", "": "",
	} {
		if got := script.Signal(word); got != want {
			t.Errorf("Signal(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestRefusalText(t *testing.T) {
	_, r := script.Parse("ls\n  coproc cat")
	if r == nil || r.Error() != "2:3: not supported: coproc" || len(r.Instead) != 1 {
		t.Fatalf("got %+v", r)
	}
	_, r = script.Parse(strings.Repeat("x", script.MaxBytes+1))
	if r == nil || !strings.HasPrefix(r.Error(), "the script has 65537 bytes") {
		t.Fatalf("got %+v", r)
	}
}

func FuzzParse(f *testing.F) {
	b, err := os.ReadFile("../preflight/testdata/cases.txt")
	if err == nil {
		for line := range strings.Lines(string(b)) {
			if _, rest, ok := strings.Cut(line, " "); ok {
				if _, text, ok := strings.Cut(rest, " "); ok {
					f.Add(strings.ReplaceAll(text, "⏎", "\n"))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, r := script.Parse(text)
		if (s == nil) == (r == nil) {
			t.Fatalf("%v and %v", s, r)
		}
		if r != nil && (r.Code == "" || r.Reason == "") {
			t.Fatalf("a refusal without code or reason: %+v", r)
		}
	})
}
