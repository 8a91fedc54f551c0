// Command reviewer is what the demo's policy grants as the bridge
// spawnSubagent: it takes {"role": …, "diff": …} as JSON on stdin, reads the
// diff, and prints findings as JSON.
//
// `reviewer collect FILE` is the attacker's end of the demo: it listens on a
// loopback port, writes the address to FILE, and prints how many connections
// came when its stdin is closed.
//
// `reviewer serve FILE` is a server that the agent may reach: it listens on a
// loopback port, writes the port to FILE, and answers with whose credential came
// until its stdin is closed.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 1:
		err = review(os.Stdin, os.Stdout)
	case len(os.Args) == 3 && os.Args[1] == "collect":
		err = collect(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "serve":
		err = serve(os.Args[2])
	default:
		err = fmt.Errorf("usage: reviewer | reviewer collect FILE | reviewer serve FILE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reviewer:", err)
		os.Exit(1)
	}
}

type task struct {
	Role string `json:"role"`
	Diff string `json:"diff"`
}

type finding struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Quote    string `json:"quote"`
}

func review(in io.Reader, out io.Writer) error {
	var t task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	look, ok := map[string]func([]line) []finding{
		"security": security, "performance": performance, "maintainability": maintainability,
	}[t.Role]
	if !ok {
		return fmt.Errorf("no reviewer for role %q", t.Role)
	}
	lines, err := added(t.Diff)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(map[string]any{
		"role": t.Role, "lines": len(lines), "findings": append([]finding{}, look(lines)...),
	})
}

// line is one added line of the diff; loops is how many for loops of the same
// hunk stand open around it.
type line struct {
	file  string
	num   int
	text  string
	loops int
}

var hunk = regexp.MustCompile(`^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// added reads a unified diff and returns its added lines.
func added(diff string) ([]line, error) {
	var out []line
	var file string
	var num int
	var open []bool // one entry an open brace: is it a loop's
	for _, raw := range strings.Split(diff, "\n") {
		switch {
		case strings.HasPrefix(raw, "+++ "):
			file = strings.TrimPrefix(strings.TrimPrefix(raw, "+++ "), "b/")
		case strings.HasPrefix(raw, "--- "), strings.HasPrefix(raw, "diff "), strings.HasPrefix(raw, "index "):
		case hunk.MatchString(raw):
			num, _ = strconv.Atoi(hunk.FindStringSubmatch(raw)[1])
			open = nil
		case strings.HasPrefix(raw, "+"), strings.HasPrefix(raw, " "):
			if file == "" {
				return nil, fmt.Errorf("not a unified diff: a line before any file")
			}
			text := raw[1:]
			if raw[0] == '+' {
				out = append(out, line{file, num, text, loops(open)})
			}
			open = braces(open, text)
			num++
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("not a unified diff: no line is added")
	}
	return out, nil
}

var (
	loopHead = regexp.MustCompile(`\b(for|while)\s*\(|\.forEach\(|\.map\(async`)
	quoted   = regexp.MustCompile("\"[^\"]*\"|'[^']*'|`[^`]*`")
)

func braces(open []bool, text string) []bool {
	loop := loopHead.MatchString(text)
	for _, c := range quoted.ReplaceAllString(text, "") {
		switch {
		case c == '{':
			open = append(open, loop)
		case c == '}' && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	return open
}

func loops(open []bool) (n int) {
	for _, is := range open {
		if is {
			n++
		}
	}
	return n
}

// rule is one pattern with what it means.
type rule struct {
	re       *regexp.Regexp
	severity string
	title    string
}

func match(lines []line, rules []rule) (out []finding) {
	for _, l := range lines {
		for _, r := range rules {
			if r.re.MatchString(l.text) {
				out = append(out, finding{l.file, l.num, r.severity, r.title, strings.TrimSpace(l.text)})
			}
		}
	}
	return out
}

func security(lines []line) []finding {
	return match(lines, []rule{
		{regexp.MustCompile(`(?i)\b(select|insert|update|delete)\b.*['"]\s*\+\s*\w`), "high",
			"SQL built by joining strings"},
		{regexp.MustCompile("(?i)`[^`]*\\b(select|insert|update|delete)\\b[^`]*\\$\\{"), "high",
			"SQL built from a template"},
		{regexp.MustCompile(`(?i)["'](tok|key|sk|ghp|xox)[_-]?live[_-]\w{8,}|["']ghp_\w{20,}`), "high",
			"secret in the source"},
		{regexp.MustCompile(`(?i)["']http://[^"']+["']`), "medium", "plain http"},
		{regexp.MustCompile(`(?i)ignore (all )?previous instructions`), "high", "text that addresses the reviewer"},
		{regexp.MustCompile(`(?i)\bread (\S+) and post it to (\S+)`), "high", "text that asks for a file"},
	})
}

func performance(lines []line) (out []finding) {
	query := regexp.MustCompile(`\.(query|find|findOne|fetch)\s*[(<]`)
	grow := regexp.MustCompile(`\w+\s*\+=\s*.*["']`)
	all := regexp.MustCompile(`(?i)\bselect \*`)
	for _, l := range lines {
		at := func(severity, title string) {
			out = append(out, finding{l.file, l.num, severity, title, strings.TrimSpace(l.text)})
		}
		switch {
		case l.loops > 1 && query.MatchString(l.text):
			at("high", fmt.Sprintf("a query inside %d loops", l.loops))
		case l.loops > 0 && query.MatchString(l.text):
			at("high", "a query inside a loop (N+1)")
		case l.loops > 0 && grow.MatchString(l.text):
			at("low", "a string grown in a loop")
		case all.MatchString(l.text):
			at("low", "select * where columns are known")
		}
	}
	return out
}

func maintainability(lines []line) []finding {
	return match(lines, []rule{
		{regexp.MustCompile(`\b(?:const|let|var)\s+[a-z]+_\w+`), "low", "snake_case among camelCase"},
		{regexp.MustCompile(`catch\s*\(\w*\)\s*\{\s*\}`), "medium", "an error is swallowed"},
		{regexp.MustCompile(`\bany\b`), "low", "any switches the types off"},
		{regexp.MustCompile(`[^=!]==[^=]`), "low", "== where === is meant"},
		{regexp.MustCompile(`\b(const|let|var)\s+(x|y|tmp\d*|data\d*)\b`), "low", "a name that says nothing"},
	})
}

// collect counts connections until stdin ends.
func collect(file string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := os.WriteFile(file, []byte(l.Addr().String()+"\n"), 0o600); err != nil {
		return fmt.Errorf("write address: %w", err)
	}
	var n atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			c.Close()
		}
	}()
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	fmt.Println(n.Load())
	return l.Close()
}

// serve answers requests. It names a credential by its length, never by itself.
func serve(file string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			came := "no credential"
			if key := r.Header.Get("Authorization"); key != "" {
				came = fmt.Sprintf("a credential of %d letters", len(key))
			}
			fmt.Fprintf(w, "%s %s, with %s", r.Method, r.URL.Path, came)
		})}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	if err := os.WriteFile(file+".new", []byte(port+"\n"), 0o600); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
