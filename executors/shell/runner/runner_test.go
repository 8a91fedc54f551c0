package runner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRuns(t *testing.T) {
	for _, tt := range []struct {
		name, text, out string
		exit            uint8
	}{
		{"words", "echo hi; x=1; echo $x $((x+1))", "hi\n1 2\n", 0},
		{"function", "f() { echo in f $1; return 3; }; f a; echo $?", "in f a\n3\n", 0},
		{"printf into a variable", `printf -v v '%05.2f|%q' 3.14159 'a b'; echo "$v"`, "03.14|a\\ b\n", 0},
		{"pipe", "echo a | cat | tr a b", "b\n", 0},
		{"files", "for i in 1 2 3; do echo $i; done > out; cat out; cat < out | wc -l", "1\n2\n3\n3\n", 0},
		{"exit trap", "trap 'echo bye' EXIT; set -e; false; echo no", "bye\n", 1},
		{"nested shell", "v=1; bash -c 'echo $0 $1 [$v]; exit 4' n p; echo $?", "n p []\n4\n", 0},
		{"shell reads its input", "echo 'echo in; exit 3' | bash; echo $?", "in\n3\n", 0},
		{"here-document for a shell", "sh <<'EOF'\necho $((1+1))\nEOF", "2\n", 0},
		{"job", "sleep 100 & pid=$!; kill $pid; wait $pid; echo $?", "143\n", 0},
		{"read", "read -r -d , a b <<< 'x y,z'; echo $a-$b; read -n 2 q <<< hello; echo $q", "x-y\nhe\n", 0},
		{"errexit in an and list", "set -e; false && true; echo $?", "1\n", 0},
		{"status is kept", "false; echo $?; (exit 7); echo $?", "1\n7\n", 0},
		{"list as a file", "while read -r l; do echo [$l]; done < <(echo a; echo b); cat <(echo c) <(true)", "[a]\n[b]\nc\n", 0},
		{"list that is sourced", "source <(echo 'x=5; f() { echo f $x; }'); f", "f 5\n", 0},
		{"subshell job", "( sleep 100 & kill %1; wait %1; echo $? )", "143\n", 0},
		{"eval in a function", "f() { local v; eval 'v=3'; echo $v; }; f; echo [$v]", "3\n[]\n", 0},
		{"function hides a builtin", "echo() { printf '<%s>\\n' \"$1\"; }; echo a; command echo b; builtin echo c", "<a>\nb\nc\n", 0},
		{"programs in front of a shell", "export V=1; env -u V W=2 nice -n 5 bash -c 'echo [$V] $W $1' _ x; timeout 5 sh -c 'exit 3'; echo $?", "[] 2 x\n3\n", 0},
		{"a limit in front of a shell", "timeout 0.05 bash -c 'sleep 100; echo no'; echo $?", "124\n", 0},
		{"clobber", "echo a >| f; cat f", "a\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runText(t, t.TempDir(), tt.text, nil)
			if r.err != nil || len(r.res.Refused) > 0 || r.res.Endless != "" {
				t.Fatalf("ended with %+v, %v", r.res, r.err)
			}
			if diff := cmp.Diff(tt.out, r.out); diff != "" || r.res.Exit != tt.exit {
				t.Errorf("exit %d, want %d; output (-want +got):\n%s%s", r.res.Exit, tt.exit, diff, r.errs)
			}
		})
	}
}
