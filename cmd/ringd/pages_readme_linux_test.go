package main // for TestMain, which makes this binary ringd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
)

// reader is the shell of a reader's terminal: it takes a command at a time, ended by a zero
// byte, and says after each how that ended, between two bytes that no command prints.
const reader = `s=0; while IFS= read -r -d "" c <&3; do (exit $s); eval "$c"; s=$?; printf '\036%d\037' $s; done`

// terminal is one of 80 columns with a shell.
type terminal struct {
	*clitest.Person
	commands *os.File
	cmd      *exec.Cmd
	ids      map[string]string // the run ids of the page, and those that were printed in their place
}

func newTerminal(t *testing.T, dir string, ids map[string]string) *terminal {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // then the terminal hangs up, and a wait ends
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-c", reader)
	c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir, "XDG_CACHE_HOME="+sharedCache, "TERM=xterm", "NO_COLOR=1",
		"RINGD_SOCKET=")
	c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = tty, tty, tty, []*os.File{r}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.Close()
		_ = master.Close() // hangs up: what still runs there ends
		_ = c.Wait()
	})
	return &terminal{&clitest.Person{T: t, TTY: master}, w, c, ids}
}

// typed sends a command with the ids that were printed here.
func (l *terminal) typed(command string) {
	l.T.Helper()
	for page, here := range l.ids {
		command = strings.ReplaceAll(command, page, here)
	}
	l.Seen.Reset()
	if _, err := l.commands.WriteString(command + "\x00"); err != nil {
		l.T.Fatal(err)
	}
}

// until waits for a text of a command that goes on.
func (l *terminal) until(text string) {
	l.T.Helper()
	buf := make([]byte, 1024)
	for !strings.Contains(l.Seen.String(), text) {
		n, err := l.TTY.Read(buf)
		l.Seen.Write(buf[:n])
		if err != nil || strings.Contains(l.Seen.String(), "\x1f") {
			l.T.Fatalf("waiting for %q: %v in\n%s", text, err, l.Seen.String())
		}
	}
}

// ended waits for the end of a command, and returns what was seen of it and its exit code.
func (l *terminal) ended() (seen, code string) {
	l.T.Helper()
	l.Until("\x1f")
	seen, rest, _ := strings.Cut(l.Seen.String(), "\x1e")
	return strings.ReplaceAll(seen, "\r\n", "\n"), strings.TrimSuffix(rest, "\x1f")
}

// runID is what a page shows as the id of a run.
var runID = regexp.MustCompile(`\br[a-z]*[2-7][a-z2-7]{4,25}\b`)

// compare holds what was printed against what the page says: to the letter, but for ids of
// runs, digests, times, and what the page leaves out as "…".
func (l *terminal) compare(command, want, got string) {
	l.T.Helper()
	var pages []string
	pattern := regexp.QuoteMeta(want)
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllLiteralString(pattern, `(?:.*\n)*?`)
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	pattern = regexp.MustCompile(`\b[0-9a-f]{12,64}\b`).ReplaceAllLiteralString(pattern, "[0-9a-f]+")
	pattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:\\.]+Z`).ReplaceAllLiteralString(pattern, `[-0-9T:.]+Z`)
	pattern = runID.ReplaceAllStringFunc(pattern, func(id string) string {
		pages = append(pages, id)
		return "(r[a-z2-7]+)"
	})
	m := regexp.MustCompile(`^(?:` + pattern + `)$`).FindStringSubmatch(got)
	if m == nil {
		l.T.Fatalf("$ %s\nprinted\n%s\nand the page says\n%s", command, got, want)
	}
	for i, id := range pages {
		l.ids[id] = m[i+1]
	}
}

// block is one of a page between fences.
type block struct {
	language, text string
	reason         string // why it is not run
}

func blocksOf(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	for _, m := range regexp.MustCompile(
		"(?ms)(?:^<!-- not run: ([^\n]*?) -->\n)?^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block{language: m[2], text: m[3], reason: m[1]})
	}
	if fences := regexp.MustCompile("(?m)^```").FindAllString(string(text), -1); len(fences) != 2*len(blocks) {
		t.Fatalf("%s: %d fences, and %d blocks", page, len(fences), len(blocks))
	}
	return blocks
}

// console types the commands of a block at a terminal, one after another. The last one may
// go on: then a further terminal has it, and it is returned.
func console(t *testing.T, l *terminal, dir, text string) (serving *terminal) {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines) && lines[i] != ""; {
		command, ok := strings.CutPrefix(strings.TrimSuffix(lines[i], "\n"), "$ ")
		if !ok {
			t.Fatalf("%q is neither a command nor printed by one", lines[i])
		}
		var want strings.Builder
		for i++; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
			want.WriteString(lines[i])
		}
		if strings.HasPrefix(command, "ringd serve") {
			s := newTerminal(t, dir, l.ids)
			s.typed(command)
			said := strings.Split(strings.TrimSuffix(want.String(), "\n"), "\n")
			first, _, _ := strings.Cut(said[len(said)-1], "…")
			s.until(first)
			s.until("\n")
			return s
		}
		l.typed(command)
		if before, _, asks := strings.Cut(want.String(), "[y/N] y\n"); asks {
			l.until(before[strings.LastIndex(before, "\n")+1:] + "[y/N] ")
			l.Types("y\n")
		}
		got, code := l.ended()
		l.compare(command, want.String(), got)
		if code != "0" && (i == len(lines) || lines[i] != "$ echo $?\n") {
			t.Fatalf("$ %s\nexits with %s, and the page does not say so\n%s", command, code, got)
		}
	}
	return nil
}

// TestPagesOfReaders types README from above to below at a terminal, as it stands, and
// compares what it says is printed with what is. A block that is not run says why.
func TestPagesOfReaders(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a daemon")
	}
	if raceDetector {
		t.Skip("make test runs it without the race detector, which makes each command slow")
	}
	dir, err := os.MkdirTemp("", "ringd-readme") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // a guest of root's is another user
		t.Fatal(err)
	}
	ids := make(map[string]string)
	l := newTerminal(t, dir, ids)
	var serving *terminal
	ran := 0
	for _, b := range blocksOf(t, "../../README.md") {
		switch {
		case b.reason != "":
			notRun(t, b)
		case b.language == "sh":
			l.typed("set -e; " + b.text)
			if got, code := l.ended(); got != "" || code != "0" {
				t.Fatalf("%s\nexits with %s\n%s", b.text, code, got)
			}
			l.typed("set +e")
			l.ended()
			ran++
		case b.language == "console":
			if s := console(t, l, dir, b.text); s != nil {
				serving = s
			}
			ran++
		case b.language != "text":
			t.Errorf("a block of %q is neither run nor says why:\n%s", b.language, b.text)
		}
	}
	if ran < 8 || serving == nil || len(ids) < 2 {
		t.Fatalf("%d blocks were run, with %d runs", ran, len(ids))
	}
	serving.Types("\x03")
	if got, code := serving.ended(); code != "0" {
		t.Errorf("serve exits with %s\n%s", code, got)
	}
}

// notRun looks up the targets of make in a block that is not run.
func notRun(t *testing.T, b block) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)\bmake ([a-z-]+)`).FindAllStringSubmatch(b.text, -1) {
		c := exec.CommandContext(t.Context(), "make", "-n", m[1])
		c.Dir = filepath.Join("..", "..")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("make %s: %v\n%s", m[1], err, out)
		}
	}
}
