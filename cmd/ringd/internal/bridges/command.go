package bridges

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/executors/js/engine/value"
	"github.com/ringd/ringd/rings/interpreter/contract"
)

// CommandConfig configures one command.
type CommandConfig struct {
	// Argv is the command. Argv[0] is a path, or a name that is searched in Path. Required.
	Argv []string
	// Dir is the command's working directory, an absolute path. Empty means the root directory.
	Dir string
	// Starts is the executable file that Argv, a command line for a shell, starts first. It is absolute or
	// relative to Dir. If it is known, Ready checks it.
	Starts string
	// Path is the command's PATH. Empty means DefaultPath.
	Path string
	// Env lists more variables, NAME=value. The command gets these, PATH, RINGD_RUN, RINGD_CALL, RINGD_BRIDGE
	// and RINGD_IDEMPOTENCY_KEY, and none of the daemon's.
	Env []string
	// OutputBytes limits stdout; 0 means DefaultOutputBytes. StderrBytes is how much of the end of stderr is
	// kept for the record; 0 means DefaultStderrBytes.
	OutputBytes int64
	StderrBytes int64
	// Grace is how long pipes may stay open after the command has exited, held by a process that left its
	// group. 0 means one second.
	Grace time.Duration
	// Idempotent states that the command, run again with the same RINGD_IDEMPOTENCY_KEY, acts only once.
	// Without it a call with an unknown result is never repeated.
	Idempotent bool
	// Failed is called with the reason of a failed call, for the operator; the program does not get it. It
	// may be called concurrently, and may be nil.
	Failed func(call contract.Call, reason string)
}

// Defaults of CommandConfig.
const (
	DefaultPath        = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	defaultOutputBytes = 16 << 20
	DefaultStderrBytes = 4 << 10
)

// Command performs a bridge by running a command for each call. It is safe for concurrent use.
type Command struct {
	cfg     CommandConfig
	program string
}

// NewCommand checks cfg and finds the program. It returns an error on systems where the processes of a
// command cannot be killed together.
func NewCommand(cfg CommandConfig) (*Command, error) {
	if !supported {
		return nil, errors.New("bridge command: only Linux can end all processes of a command")
	}
	if len(cfg.Argv) == 0 || cfg.Argv[0] == "" {
		return nil, errors.New("bridge command: no command given")
	}
	cfg.Argv, cfg.Env = slices.Clone(cfg.Argv), slices.Clone(cfg.Env)
	if cfg.Path == "" {
		cfg.Path = DefaultPath
	}
	if cfg.Dir == "" {
		cfg.Dir = "/"
	}
	if !filepath.IsAbs(cfg.Dir) {
		return nil, fmt.Errorf("bridge command %s: working directory %s is not absolute", cfg.Argv[0], cfg.Dir)
	}
	for _, v := range cfg.Env {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || name == "PATH" || strings.HasPrefix(name, "RINGD_") || strings.Contains(v, "\x00") {
			return nil, fmt.Errorf("bridge command %s: variable %q cannot be set", cfg.Argv[0], name)
		}
	}
	if cfg.OutputBytes <= 0 {
		cfg.OutputBytes = defaultOutputBytes
	}
	if cfg.StderrBytes <= 0 {
		cfg.StderrBytes = DefaultStderrBytes
	}
	if cfg.Grace <= 0 {
		cfg.Grace = time.Second
	}
	program, err := findProgram(cfg.Argv[0], cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("bridge command %s: %w", cfg.Argv[0], err)
	}
	return &Command{cfg: cfg, program: program}, nil
}

// findProgram returns the absolute path of an executable file.
func findProgram(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		abs, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		return abs, executable(abs)
	}
	for _, dir := range filepath.SplitList(path) {
		if p := filepath.Join(dir, name); filepath.IsAbs(p) && executable(p) == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("not found in %s", path)
}

func executable(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return fmt.Errorf("%w: not an executable file", fs.ErrPermission)
	}
	return nil
}

// Call runs the command once, with the arguments as JSON on stdin. Values that JSON does not have are in the
// tagged encoding. Its stdout is the result: one JSON value, or nothing for undefined. When ctx ends, the
// command prints too much, or it exits, its whole process group is killed. An exit status other than 0, or
// output that is not JSON, fails the call. The error text, with the end of stderr, is only for the record.
func (c *Command) Call(ctx context.Context, call contract.Call) (json.RawMessage, error) {
	result, err := c.call(ctx, call)
	if err != nil && c.cfg.Failed != nil {
		reason := strings.TrimPrefix(err.Error(), "command "+c.cfg.Argv[0]+": ")
		c.cfg.Failed(call, strings.Replace(reason, stderrMark, ": ", 1))
	}
	return result, err
}

func (c *Command) call(ctx context.Context, call contract.Call) (json.RawMessage, error) {
	stdout, tail, err := c.exec(ctx, withoutUndefined(call.Args), []string{
		"RINGD_RUN=" + call.Run, "RINGD_CALL=" + call.ID,
		"RINGD_BRIDGE=" + call.Bridge, "RINGD_IDEMPOTENCY_KEY=" + call.Key,
	})
	if err != nil {
		return nil, err
	}
	plain := bytes.TrimSpace(stdout)
	if len(plain) == 0 {
		return nil, nil
	}
	tagged, err := value.FromJSON(plain)
	if err != nil {
		return nil, fmt.Errorf("command %s: its output: %w%s", c.cfg.Argv[0], err, tail.text())
	}
	return tagged, nil
}

// Ready returns why no call can begin now: the program, the file that it starts, its interpreter or the
// folder is missing.
func (c *Command) Ready() error {
	files := []string{c.program}
	if starts := c.cfg.Starts; starts != "" {
		if !filepath.IsAbs(starts) {
			starts = filepath.Join(c.cfg.Dir, starts)
		}
		files = append(files, starts)
	}
	for _, f := range files {
		err := checkStartable(f)
		path, ok := errors.AsType[*fs.PathError](err)
		switch {
		case ok:
			return fmt.Errorf("%s: %w", path.Path, path.Err)
		case err != nil:
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	if st, err := os.Stat(c.cfg.Dir); err != nil || !st.IsDir() {
		return fmt.Errorf("%s: %w", c.cfg.Dir, fs.ErrNotExist)
	}
	return nil
}

// checkStartable is executable, and also checks the interpreter of a script.
func checkStartable(path string) error {
	if err := executable(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // it may be executable and not readable
	}
	defer func() { _ = f.Close() }() // only read
	head := make([]byte, 256)        // the kernel reads no more
	n, _ := io.ReadFull(f, head)
	line, ok := bytes.CutPrefix(head[:n], []byte("#!"))
	if !ok {
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if words := strings.Fields(string(line)); len(words) > 0 && filepath.IsAbs(words[0]) {
		return executable(words[0])
	}
	return nil
}

// Idempotent returns CommandConfig.Idempotent.
func (c *Command) Idempotent() bool { return c.cfg.Idempotent }

// Run runs the command once with stdin, like Call, but accepts any output. env lists NAME=value, besides PATH
// and CommandConfig.Env.
func (c *Command) Run(ctx context.Context, stdin []byte, env []string) ([]byte, error) {
	stdout, _, err := c.exec(ctx, stdin, env)
	return stdout, err
}

// exec runs the command once and returns its stdout and the end of its stderr. An error contains that end
// already.
func (c *Command) exec(ctx context.Context, stdin []byte, env []string) ([]byte, *tailBuffer, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &limitedBuffer{most: c.cfg.OutputBytes, over: func() { stop(errTooMuch) }}
	tail := &tailBuffer{most: int(c.cfg.StderrBytes)}
	cmd := exec.CommandContext(ctx, c.program, c.cfg.Argv[1:]...)
	cmd.Args[0] = c.cfg.Argv[0]
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.cfg.Dir, bytes.NewReader(stdin), out, tail
	cmd.Env = slices.Concat([]string{"PATH=" + c.cfg.Path}, env, c.cfg.Env)
	cmd.WaitDelay = c.cfg.Grace
	if err := c.run(cmd); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return nil, tail, fmt.Errorf("command %s: %w%s", c.cfg.Argv[0], err, tail.text())
	}
	if errors.Is(context.Cause(ctx), errTooMuch) {
		return nil, tail, fmt.Errorf("command %s: %w", c.cfg.Argv[0], errTooMuch)
	}
	return out.b.Bytes(), tail, nil
}

// withoutUndefined removes undefined members of objects, as JSON.stringify does. Other tagged values stay.
func withoutUndefined(args json.RawMessage) []byte {
	if !bytes.Contains(args, []byte(value.Undefined)) {
		return args
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return args
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(dropUndefined(v)) != nil {
		return args
	}
	return out.Bytes()
}

func dropUndefined(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if m, ok := member.(map[string]any); ok && len(m) == 1 && m[value.Mark] == "undefined" {
				delete(v, key)
				continue
			}
			v[key] = dropUndefined(member)
		}
	case []any:
		for i := range v {
			v[i] = dropUndefined(v[i])
		}
	}
	return v
}

var errTooMuch = errors.New("its output is above the limit")

// run starts cmd in a new process group, waits for its end and kills the rest of the group. It keeps the
// thread locked: the command dies with the thread that started it, so it cannot outlive a daemon that is
// killed.
func (c *Command) run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = processAttributes()
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	if err := cmd.Start(); err != nil {
		return err
	}
	// The number of the group cannot be reused before Wait has reaped its leader, so the group is killed
	// before that.
	awaitExit(cmd.Process.Pid)
	_ = killGroup(cmd.Process.Pid) // an error means that no process is left
	return cmd.Wait()
}

// limitedBuffer keeps written bytes up to a limit.
type limitedBuffer struct {
	b    bytes.Buffer
	most int64
	over func()
}

func (w *limitedBuffer) Write(p []byte) (int, error) {
	if int64(w.b.Len()+len(p)) > w.most {
		w.over()
		return 0, errTooMuch
	}
	return w.b.Write(p)
}

// tailBuffer keeps the end of the written bytes.
type tailBuffer struct {
	mu   sync.Mutex
	b    []byte
	most int
}

func (w *tailBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b = append(w.b, p[max(0, len(p)-w.most):]...)
	w.b = w.b[max(0, len(w.b)-w.most):]
	return len(p), nil
}

// text returns the end of stderr as a suffix of an error.
func (w *tailBuffer) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := strings.TrimSpace(strings.ToValidUTF8(string(w.b), "\uFFFD"))
	if s == "" {
		return ""
	}
	return stderrMark + s
}

// stderrMark precedes the end of stderr in an error.
const stderrMark = ": stderr: "
