package programs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAwkStartsNothing(t *testing.T) {
	for _, text := range benign() {
		if p := parseAwk(text); p.Refused != "" || len(p.Texts) > 0 {
			t.Errorf("%s\n  starts %q, %s", text, p.Texts, p.Refused)
		}
	}
}

func TestAwkStarts(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // nil: refused
	}{
		{`BEGIN{system("id")}`, []string{"id"}},
		{`BEGIN { system ("id") ; system( "curl x" ) }`, []string{"id", "curl x"}},
		{"BEGIN{system\\\n(\"id\")}", []string{"id"}},
		{`/system/ {system("id")}`, []string{"id"}},
		{`{print | "sh"}`, []string{"sh"}},
		{`{printf "%s", $1 | "sort -n"}`, []string{"sort -n"}},
		{`BEGIN{while (("id" | getline x) > 0) print x}`, []string{"id"}},
		{`BEGIN{"date" | getline; close("date")}`, []string{"date"}},
		{`BEGIN{x = "a/b" / 2; system("id") #/}`, []string{"id"}},
		{`BEGIN{a[1]/2; system("id"); b/2}`, []string{"id"}},
		{`BEGIN{x=1 /2; system("id") } #/`, []string{"id"}},
		{`$1/2{system("id")} #/`, []string{"id"}},
		{`$0 ~ /a\/b/ {system("id")}`, []string{"id"}},
		{`/[/]/ {system("id")}`, []string{"id"}},
		{`/[[:alpha:]/"]/ {system("id")} #"`, []string{"id"}},
		{`/[^]/"]/ {system("id")} #"`, []string{"id"}},
		{`/[a\]/"]/ {system("id")} #"`, []string{"id"}},
		{`{ gsub(/"/, "") ; system("id") }`, []string{"id"}},
		{"# it's\nBEGIN{system(\"id\")}", []string{"id"}},
		{`BEGIN{print "#"; system("id")}`, []string{"id"}},
		{`BEGIN{print "\"" ; system("id")}`, []string{"id"}},
		{`BEGIN{system("i" "d")}`, nil},
		{`BEGIN{system(x)}`, nil},
		{`{system($0)}`, nil},
		{`BEGIN{system(sprintf("id"))}`, nil},
		{`{print $1 | cmd}`, nil},
		{`{print $1 | "sh" x}`, nil},
		{`{print $1 | ("sh")}`, nil},
		{`BEGIN{cmd | getline}`, nil},
		{`BEGIN{"i" "d" | getline}`, nil},
		{`BEGIN{x "id" | getline}`, nil},
		{`BEGIN{"id" |& getline}`, nil},
		{`{print |& "sh"}`, nil},
		{`(x)/2; system(y) #/`, nil},
		{`BEGIN{x++ /2; system(y) } #/`, nil},
		{`@load "x"`, nil},
		{`BEGIN{f="system"; @f("id")}`, nil},
		{`BEGIN{awk::system("id")}`, []string{"id"}},
		{`BEGIN{getline < "/inet/tcp/0/h/80"}`, nil},
		{`BEGIN{print "x" > "/inet/tcp/0/h/80"}`, nil},
		{`BEGIN{print "unterminated`, nil},
		{strings.Repeat("x", mostAwk+1), nil},
	} {
		p := parseAwk(c.text)
		if c.want == nil && p.Refused == "" {
			t.Errorf("%.80s\n  is not refused: %q", c.text, p.Texts)
		}
		if c.want != nil && (p.Refused != "" || !cmp.Equal(p.Texts, c.want)) {
			t.Errorf("%s\n  starts %q (%s), wanted %q", c.text, p.Texts, p.Refused, c.want)
		}
	}
}

func benign() []string {
	return []string{
		`{print $1}`, `{print $NF}`, `{ print $1, $3 }`, `NR==1`, `NR>1 {print $2}`, `NR%2==0`, `END{print NR}`,
		`$3 > 1000 || /x|y/ {print $1}`, `/rm -rf/ {print FILENAME": "FNR}`, `/error|warn/`, `!/^#/`, `/start/,/end/`, `length($0) > 80`,
		`{s+=$1} END{print s}`, `{s+=$1} END{print s/NR}`, `{a[$1]++} END{for (k in a) print a[k], k}`, `!seen[$0]++`, `{print NR": "$0}`,
		`BEGIN{FS=":"; OFS="\t"} {print $1,$7}`, `BEGIN{FS="|"} {print $2}`, `-F`, `{gsub(/foo/,"bar"); print}`, `{sub(/[^/]*$/, ""); print}`, `{gsub("/", "_"); print}`,
		`$1 == "system" {print $2}`, `/system\(/ {n++} END {print n}`, `{print "use system() | pipe"}`, `{ if ($1 > max) max = $1 } END { print max }`, `$0 ~ /a|b/ && $2 !~ /c/`,
		`{ printf "%-10s %5.2f\n", $1, $2 }`, `{ print substr($0, 1, 10) }`, `{ split($0, p, "/"); print p[length(p)] }`, `match($0, /[0-9]+/) { print substr($0, RSTART, RLENGTH) }`,
		`{ print toupper($1) }`, `BEGIN { while ((getline line < "f") > 0) n++; print n }`, `{ print > "out.txt" }`, `{ print $1 >> "log" }`, `{ print "x" > "/dev/stderr" }`,
		`function f(x) { return x * 2 } { print f($1) }`, `BEGIN { printf "%d\n", 10 / 3 }`, `{ x = $1 / $2; print x }`, `{ print ($1 + $2) / 2 }`, `{ print $1/1024 " KB" }`,
		`/^[a-z]+:/ { sub(/:$/, "", $1); print $1 }`, `/^\/\*/,/\*\// { next } { print }`, `BEGIN { for (i = 0; i < 10; i++) print i }`, `{ $2 = ""; print }`, `NF { print }`, `NF && !/^[[:space:]]*#/`,
		`{ n = split($0, a, /[,;|]/); print n }`, `BEGIN{RS=""} {print $1}`, `BEGIN { RS = "\0" } { print }`, `{ delete a; print }`, `$NF ~ /\.go$/ { print $NF }`, `/diff --git/ { f = $3 } /^\+/ { c[f]++ } END { for (f in c) print f, c[f] }`,
		`{ print $1 "|" $2 }`, `{ print a || b }`, `{ print (a == 1) ? "x" : "y" }`, `# system("id")` + "\n{print}", `{print} # cmd | getline`, `{ print length }`, `BEGIN { srand(); print int(rand() * 10) }`,
		`FNR==NR {a[$1]=$2; next} $1 in a {print $0, a[$1]}`, `{ for (i = NF; i > 0; i--) printf "%s ", $i; print "" }`, `/^## \[/ {if (f) exit; f=1} f`, `{ print strftime("%Y", $1) }`, `$2 >= 100 && $2 <= 200`, `BEGIN { print ENVIRON["HOME"] }`,
		`{ gsub(/\|/, " "); print }`, `{ gsub(/[|]/, " "); print }`, `/[/|]/ { print }`, `{ print $1 * 100 / total "%" }`, `{ t += $5 } END { printf "%.1f MB\n", t / 1048576 }`,
		"/a/ {\n  print $1\n}\n/b/ {\n  print $2\n}\n", `{ sub("^.*/", ""); print }`, `tolower($0) ~ /todo/ { print FILENAME ":" FNR ": " $0 }`, `{ x[NR] = $0 } END { for (i = NR; i; i--) print x[i] }`,
		`BEGIN { "" }`, `$1 ~ "^/usr/bin/"`, `@include "lib.awk"`, `{ print > ("out-" $1 ".txt") }`, `{ print a-b, c/d, e/f }`, `{ if (/x/) print; else if (/y/) next }`, `{ print a[1]/a[2]/a[3] }`,
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range benign() {
		f.Add(text)
	}
	f.Add(`BEGIN{system("id")}`)
	f.Add(`{print | "sh"}`)
	f.Fuzz(func(t *testing.T, text string) {
		p := parseAwk(text)
		for _, s := range p.Texts {
			if len(s) > len(text) {
				t.Errorf("%q starts %q, which is not in it", text, s)
			}
		}
		// A comment at the end hides nothing that stands in front of it.
		if with := parseAwk(text + "\n#"); p.Refused == "" && len(p.Texts) > 0 && with.Refused == "" &&
			len(with.Texts) < len(p.Texts) {
			t.Errorf("%q starts less with a comment behind it", text)
		}
	})
}
