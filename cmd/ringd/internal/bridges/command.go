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

// CommandConfig describes one command.
type CommandConfig struct {
	// Argv is the command; Argv[0] is a path, or a name that is looked up in
	// Path. Required.
	Argv []string
	// Dir is the command's working directory, an absolute path; "" is the root
	// directory.
	Dir string
	// Starts is an executable file that Argv, a command line for a shell, starts first,
	// absolute or below Dir; "": not known. Ready looks for it.
	Starts string
	// Path is the command's PATH; "" is DefaultPath.
	Path string
	// Env are further variables, NAME=value. The command gets these, PATH,
	// RINGD_RUN, RINGD_CALL, RINGD_BRIDGE and RINGD_IDEMPOTENCY_KEY, and none of
	// the daemon's.
	Env []string
	// OutputBytes bounds stdout; 0 is DefaultOutputBytes. StderrBytes is how much
	// of the end of stderr is kept for the record; 0 is DefaultStderrBytes.
	OutputBytes int64
	StderrBytes int64
	// Grace is how long pipes may stay open after the command is gone, held by a
	// process that left its group; 0 is one second.
	Grace time.Duration
	// Idempotent is the host owner's word that the command, run again with the
	// same RINGD_IDEMPOTENCY_KEY, does nothing twice. Without it a call whose end
	// is not known is never tried again.
	Idempotent bool
	// Failed is told why a call failed, for the owner of the host: the program is not
	// told. It may be called concurrently; nil: nobody is told.
	Failed func(call contract.Call, reason string)
}

// Defaults of Config.
const (
	DefaultPath        = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	defaultOutputBytes = 16 << 20
	DefaultStderrBytes = 4 << 10
)

// Command performs a bridge by running a command for each call. It is safe for
// concurrent use.
type Command struct {
	cfg     CommandConfig
	program string
}

// NewCommand checks cfg and finds the program. It refuses on systems where a
// command's processes cannot be ended together.
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
	program, err := find(cfg.Argv[0], cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("bridge command %s: %w", cfg.Argv[0], err)
	}
	return &Command{cfg: cfg, program: program}, nil
}

// find returns the absolute path of an executable file.
func find(name, path string) (string, error) {
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

// Call runs the command once, with the arguments as JSON on stdin; what plain
// JSON cannot say is in the tagged encoding. Its stdout is
// the result: one JSON value, or nothing for undefined. When ctx ends, the
// command prints too much, or it exits, its whole process group is killed. A
// command that exits with another status than 0, or prints anything but JSON,
// fails the call; the error's text, with the end of stderr, is for the record
// only.
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

// Ready returns why no call can begin now: the program, the file that it starts or the
// folder is not there any more, or has no interpreter.
func (c *Command) Ready() error {
	files := []string{c.program}
	if starts := c.cfg.Starts; starts != "" {
		if !filepath.IsAbs(starts) {
			starts = filepath.Join(c.cfg.Dir, starts)
		}
		files = append(files, starts)
	}
	for _, f := range files {
		err := startable(f)
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

// startable is executable, and looks for the interpreter that a script names as well.
func startable(path string) error {
	if err := executable(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // it may be one that can be executed and not read
	}
	defer func() { _ = f.Close() }() // it was read
	head := make([]byte, 256)        // of which the kernel reads no more
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

// Idempotent reports Config.Idempotent.
func (c *Command) Idempotent() bool { return c.cfg.Idempotent }

// Run runs the command once with stdin, as Call does, and takes anything on
// its stdout. env are NAME=value, beside PATH and Config.Env.
func (c *Command) Run(ctx context.Context, stdin []byte, env []string) ([]byte, error) {
	stdout, _, err := c.exec(ctx, stdin, env)
	return stdout, err
}

// exec runs the command once and returns its stdout and the end of its stderr,
// which an error holds already.
func (c *Command) exec(ctx context.Context, stdin []byte, env []string) ([]byte, *tail, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &bounded{most: c.cfg.OutputBytes, over: func() { stop(errTooMuch) }}
	tail := &tail{most: int(c.cfg.StderrBytes)}
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

// withoutUndefined leaves out the members of objects that are undefined, as
// JSON.stringify does: to a command they are absent. Other tagged values stay.
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

// run starts cmd in a process group of its own, waits for its end and kills what
// is left of the group. The thread is kept: the command dies with the thread
// that started it, so that it cannot outlive a daemon that is killed.
func (c *Command) run(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	if err := cmd.Start(); err != nil {
		return err
	}
	// The group's number cannot be given to others before Wait has reaped its
	// leader, so it is killed before that.
	awaitExit(cmd.Process.Pid)
	_ = killGroup(cmd.Process.Pid) // none may be left; then there is nothing to do
	return cmd.Wait()
}

// bounded keeps what is written, up to a limit.
type bounded struct {
	b    bytes.Buffer
	most int64
	over func()
}

func (w *bounded) Write(p []byte) (int, error) {
	if int64(w.b.Len()+len(p)) > w.most {
		w.over()
		return 0, errTooMuch
	}
	return w.b.Write(p)
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	b    []byte
	most int
}

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b = append(w.b, p[max(0, len(p)-w.most):]...)
	w.b = w.b[max(0, len(w.b)-w.most):]
	return len(p), nil
}

// text is the end of stderr as the end of an error.
func (w *tail) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := strings.TrimSpace(strings.ToValidUTF8(string(w.b), "\uFFFD"))
	if s == "" {
		return ""
	}
	return stderrMark + s
}

// stderrMark stands in an error before the end of stderr.
const stderrMark = ": stderr: "
