package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/ringd/ringd/schema"
)

// MaxFile is the size in bytes of the largest config file that is read.
const MaxFile = 1 << 20

// maxRequestRecords: more in a second than any log takes.
const maxRequestRecords = 1_000_000

// File is the daemon's config file. Its zero value is a daemon with no policy,
// no bridges, and no actor but root and its own user.
type File struct {
	Sync   string `yaml:"sync"`   // folder of the policy
	Shadow string `yaml:"shadow"` // folder of a candidate that decides beside the policy; "": none
	State  string `yaml:"state"`  // folder of audit log and store
	Socket string `yaml:"socket"` // path of the Unix socket
	// SocketGroup is the group, by name or number, whose users may connect to the
	// socket; "": that of the daemon's user. What each may ask stands in Roles.
	SocketGroup string `yaml:"socketGroup"`

	Staleness *Duration         `yaml:"staleness"` // how long a generation stands without a good push; nil: 10m
	Audit     Audit             `yaml:"audit"`
	Watch     watch             `yaml:"watch"` // how the sync folder is looked at
	Roles     Roles             `yaml:"roles"`
	Workspace Workspace         `yaml:"workspace"`
	Bridges   map[string]Bridge `yaml:"bridges"` // by name, as the policy grants it
	Limits    Limits            `yaml:"limits"`
	Snapshots Snapshots         `yaml:"snapshots"`
	Guests    Guests            `yaml:"guests"`
	Python    Python            `yaml:"python"`
	// Approvers says who stands for the owners that policies name in
	// `approval.from`: "group:leads@acme.example": ["uid:1001", "gid:500", "token:ann"].
	Approvers map[string][]string `yaml:"approvers"`
	Notify    []Notification      `yaml:"notify"` // told when a call waits for an approver
	// Listen are the TCP addresses beside the socket, and Tokens the callers there.
	Listen []Listener `yaml:"listen"`
	Tokens []Token    `yaml:"tokens"`
	// Credentials are what gateways add, Gateways what they stand for, each by the
	// name that policies use.
	Credentials map[string]Credential `yaml:"credentials"`
	Gateways    map[string]Gateway    `yaml:"gateways"`
	Egress      Egress                `yaml:"egress"`
	// Trust says who signs pushes; nil: the sync folder holds the policy's sources, and
	// whoever can write it is trusted.
	Trust *Trust `yaml:"trust"`
}

// watch says how the sync folder, and the shadow folder, are looked at. Nil fields take
// the defaults of the daemon.
type watch struct {
	Poll *Duration `yaml:"poll"` // between looks at names, sizes and times where no event comes; nil: 1s
	// without an event before a look: what arrives within it is one push; nil: 100ms, 25ms with
	// trust
	Quiet *Duration `yaml:"quiet"`
	// how long a file stays as it is before it counts, where nobody can tell whether it is open;
	// nil: 2s
	Settle *Duration `yaml:"settle"`
}

// check bounds what makes a folder deaf or the daemon busy.
func (w watch) check() error {
	for _, f := range []struct {
		name        string
		value       *Duration
		least, most time.Duration
	}{
		{"poll", w.Poll, 100 * time.Millisecond, time.Minute}, {"quiet", w.Quiet, time.Millisecond, 10 * time.Second},
		{"settle", w.Settle, 0, time.Minute},
	} {
		if f.value != nil && (time.Duration(*f.value) < f.least || time.Duration(*f.value) > f.most) {
			return fmt.Errorf("watch.%s: %s is not from %s to %s", f.name, time.Duration(*f.value), f.least, f.most)
		}
	}
	return nil
}

// Roles says who may do what, each entry a uid or a gid: "uid:1000",
// "gid:2000". A uid that is a harness may not be an approver.
type Roles struct {
	Harness  []string `yaml:"harness"`  // starts runs and answers their calls
	Approver []string `yaml:"approver"` // approves calls
	Operator []string `yaml:"operator"` // cancels, reads everything
	Viewer   []string `yaml:"viewer"`   // reads
}

// Bridge says what answers the calls of one bridge.
type Bridge struct {
	Provider string   `yaml:"provider"` // command | harness | log
	Command  []string `yaml:"command"`  // argv; argv[0] absolute
	// Dir is the command's folder, absolute; "" is /. Env is what its environment
	// holds beside PATH and the RINGD_ variables.
	Dir string            `yaml:"dir"`
	Env map[string]string `yaml:"env"`
	// Idempotent is the operator's word that the command, asked again with the
	// same RINGD_IDEMPOTENCY_KEY, does nothing twice.
	Idempotent bool `yaml:"idempotent"`
}

// Workspace says what $WORKSPACE stands for in policies. Where it names nothing for an
// agent, a grant below $WORKSPACE grants nothing there. A caller cannot name one.
type Workspace struct {
	Default string            `yaml:"default"`
	Agents  map[string]string `yaml:"agents"` // by the name of the agent
}

// Of is the workspace of an agent; "": it has none.
func (w Workspace) Of(agent string) string {
	if dir, ok := w.Agents[agent]; ok {
		return dir
	}
	return w.Default
}

func (w Workspace) check() error {
	var errs []error
	bad := func(field, dir string) {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || dir == "/" {
			errs = append(errs, fmt.Errorf("workspace.%s: %q is not an absolute, clean path of a folder below /", field,
				dir))
		}
	}
	if w.Default != "" {
		bad("default", w.Default)
	}
	for _, agent := range sortedKeys(w.Agents) {
		bad("agents."+agent, w.Agents[agent])
	}
	return errors.Join(errs...)
}

// Limits bound the daemon. Zero takes the default.
type Limits struct {
	Runs         int       `yaml:"runs"`         // live runs in all
	RunsPerActor int       `yaml:"runsPerActor"` // live runs of one actor
	Drain        *Duration `yaml:"drain"`        // grace of live runs at SIGTERM
	// Paused are runs that wait in the store, in all and of one actor.
	Paused         int `yaml:"paused"`
	PausedPerActor int `yaml:"pausedPerActor"`
	// PausedBytesPerActor bounds what the records of one actor's waiting runs take.
	PausedBytesPerActor Size `yaml:"pausedBytesPerActor"`
	// WaitingCalls and WaitingBytes bound the calls of one agent and actor that wait for
	// approvers: their number, and the bytes of their arguments.
	WaitingCalls int  `yaml:"waitingCalls"`
	WaitingBytes Size `yaml:"waitingBytes"`
	// RequestRecords is how many records one caller may cause in a second with requests
	// of one kind that are outside of runs.
	RequestRecords int       `yaml:"requestRecords"`
	Retention      *Duration `yaml:"retention"` // how long finished runs are kept
	// RecordsPerRun is how much of the audit log one run may cause: the run that passes
	// it is ended.
	RecordsPerRun Size `yaml:"recordsPerRun"`
	// FreeSpace is what has to be free on the disk of the state folder: below it no new
	// runs are taken.
	FreeSpace Size `yaml:"freeSpace"`
}

// Guests says how guest processes are started.
type Guests struct {
	// UID is the first user of guests when ringd is root, and their group: it owns
	// their files. 0 takes the default.
	UID int `yaml:"uid"`
	// Count is how many users there are from UID on, which nothing else on the host
	// has: one of files, one of guests that no agent has yet, one for each agent that
	// has guests at a time. 0 takes the default when UID is 0 too; it is 1 otherwise,
	// one user of all guests.
	Count int `yaml:"count"`
	// Processors is how many processors one guest may run on; 0 is 1. With more of them
	// the threads of a guest can take turns from everybody else on the host.
	Processors int `yaml:"processors"`
}

// The users of guests where the file names none: those of rings/kernel, which a test
// holds them to.
const (
	defaultGuestUID   = 1879048192
	defaultGuestCount = 65536
)

// users are the users that guests have: the first, and how many there are.
func (g Guests) users() (first, count int) {
	switch {
	case g.UID == 0 && g.Count == 0:
		return defaultGuestUID, defaultGuestCount
	case g.UID == 0:
		return defaultGuestUID, g.Count
	default:
		return g.UID, max(g.Count, 1)
	}
}

// check refuses a user who is somebody.
func (g Guests) check(r Roles) error {
	if g.UID < 0 || g.UID > math.MaxInt32 {
		return fmt.Errorf("guests.uid: %d is not a user", g.UID)
	}
	first, count := g.users()
	if g.Count < 0 || g.Count == 2 || count > math.MaxInt32-first {
		return fmt.Errorf("guests.count: %d users from %d on are not enough or too many: want one for files, one for "+
			"guests without an agent, and one for each agent; or 1 for all",
			g.Count, first)
	}
	if g.Processors < 0 {
		return fmt.Errorf("guests.processors: %d is not a number of processors", g.Processors)
	}
	for _, id := range slices.Concat(r.Harness, r.Approver, r.Operator, r.Viewer) {
		if _, n, err := parseID(id); err == nil && int(n) >= first && int(n) < first+count {
			return fmt.Errorf("guests.uid: %d has a role as %s; use a number that no user has", n, id)
		}
	}
	return nil
}

// Python says what Python programs run on, and how many interpreters are kept.
type Python struct {
	// Interpreter is the absolute path of one; "": what the host has.
	Interpreter string `yaml:"interpreter"`
	Ready       *int   `yaml:"ready"`    // started ahead, for each agent that was asked for; nil: 1
	Sessions    *int   `yaml:"sessions"` // kept between runs; nil: 16
	// Idle is how long a session is kept that nobody uses; nil: 15m. Memory is how many
	// bytes its interpreter may have taken; 0: what the policy lets a program take.
	Idle   *Duration `yaml:"idle"`
	Memory int64     `yaml:"memory"`
}

func (p Python) check() error {
	switch {
	case p.Interpreter != "" && !filepath.IsAbs(p.Interpreter):
		return fmt.Errorf("python.interpreter: %q is not an absolute path", p.Interpreter)
	case p.Ready != nil && (*p.Ready < 0 || *p.Ready > 64), p.Sessions != nil &&
		(*p.Sessions < 0 || *p.Sessions > 4096):
		return errors.New("python: ready is at most 64, sessions at most 4096, and neither is negative")
	case p.Idle != nil && *p.Idle == 0:
		return errors.New("python.idle: 0 would keep no session; set sessions to 0 instead")
	case p.Memory < 0:
		return errors.New("python.memory: a negative number of bytes")
	}
	return nil
}

// Span reads a duration of the command line and of this file: those of policies, such
// as 30s or 1d, and several units in one, such as 1h30m. It refuses negative ones.
func Span(text string) (time.Duration, error) {
	if n, ok := schema.Duration(text); ok && n <= math.MaxInt64/int64(time.Millisecond) {
		return time.Duration(n) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("negative")
	}
	return d, err
}

// Duration is a span such as 500ms, 30s, 5m, 2h or 1d.
type Duration time.Duration

// UnmarshalYAML reads a quoted or plain span; a bare number has no unit and is
// refused, except 0.
func (d *Duration) UnmarshalYAML(b []byte) error {
	s := strings.Trim(strings.TrimSpace(string(b)), `"'`)
	v, err := Span(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 500ms, 30s, 5m, 2h or 1d", s)
	}
	*d = Duration(v)
	return nil
}

// Read decodes one config file. name is what errors show. Its errors are
// "name:line:column: message" for everything that stands at a place.
func Read(name string, r io.Reader) (File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("read config %s: %w", name, err)
	}
	if len(data) > MaxFile {
		return File{}, fmt.Errorf("%s: larger than %d bytes", name, MaxFile)
	}
	var f File
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := dec.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return File{}, place(name, err)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return File{}, fmt.Errorf("%s: holds more than one document", name)
	}
	var all any
	if err := yaml.Unmarshal(data, &all); err != nil {
		return File{}, place(name, err)
	}
	if at := unsaid(all); at != "" {
		return File{}, fmt.Errorf("%s: %s is empty: write a value, or leave it out", name, at)
	}
	if err := f.check(); err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// unsaid names the first field, by name, that has no value; "": each has one. To a
// decoder such a field is one that is left out, and what is left out may mean less:
// without trust anybody may push. A whole section that only gives may be empty, as the
// example's are, whose lines are comments.
func unsaid(v any) string {
	gives := []string{"approvers", "bridges", "credentials", "egress", "gateways", "limits", "listen", "notify",
		"python", "roles", "snapshots", "tokens", "watch", "workspace"}
	all, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == nil && slices.Contains(gives, name) {
			continue
		}
		if at, found := empty(all[name]); found {
			return name + at
		}
	}
	return ""
}

// empty looks for a value that is none, at v or below it.
func empty(v any) (at string, found bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if at, found := empty(v[name]); found {
				return "." + name + at, true
			}
		}
	case []any:
		for i := range v {
			if at, found := empty(v[i]); found {
				return fmt.Sprintf("[%d]%s", i, at), true
			}
		}
	}
	return "", false
}

// place puts the position in front of a decoder's message.
func place(name string, err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		p := at.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, worded(at.GetMessage()))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// worded says what is wanted instead of a Go type, and leaves the value out.
func worded(message string) string {
	_, kind, found := strings.Cut(message, " of type ")
	if !found || !strings.HasPrefix(message, "cannot unmarshal ") {
		return message
	}
	switch kind, _, _ = strings.Cut(kind, " "); {
	case kind == "string":
		return "want a text"
	case kind == "bool":
		return "want true or false"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "want a whole number"
	default:
		return "want another kind of value"
	}
}

func (f File) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	errs = append(errs, f.Watch.check())
	for _, p := range []struct{ field, path string }{{"sync", f.Sync}, {"shadow", f.Shadow}, {"state", f.State},
		{"socket", f.Socket}} {
		if p.path != "" && !filepath.IsAbs(p.path) {
			bad("%s: %q is not an absolute path", p.field, p.path)
		}
	}
	if f.Limits.Runs < 0 || f.Limits.RunsPerActor < 0 || f.Limits.Paused < 0 || f.Limits.PausedPerActor < 0 ||
		f.Limits.WaitingCalls < 0 || f.Limits.RequestRecords < 0 {
		bad("limits: a number of runs, calls or records is negative")
	}
	if f.Limits.RequestRecords > maxRequestRecords {
		bad("limits.requestRecords: at most %d", maxRequestRecords)
	}
	if r := f.Limits.Retention; r != nil && *r == 0 {
		bad("limits.retention: 0 would keep no results; leave it out for the default")
	}
	errs = append(errs, f.Audit.check(), f.Roles.check(), f.Workspace.check(), f.Guests.check(f.Roles),
		f.Python.check(), checkBridges(f.Bridges), f.Snapshots.check(),
		checkApprovers(f.Approvers, f.Roles.Harness, f.Tokens), checkNotify(f.Notify),
		checkListeners(f.Listen, f.Tokens), checkTokens(f.Tokens),
		checkCredentials(f.Credentials), checkGateways(f.Gateways, f.Credentials), f.Egress.check(), f.Trust.check())
	return errors.Join(errs...)
}

// Private lists what is the daemon's alone and no guest's: its folders, and the
// files of its secrets. The paths are absolute and clean.
func (f File) Private() []string {
	all := []string{f.Sync, f.Shadow, f.State, f.Audit.Archive}
	if f.Snapshots.Key != nil {
		all = append(all, f.Snapshots.Key.File)
	}
	for _, s := range f.Snapshots.Previous {
		all = append(all, s.File)
	}
	for _, n := range f.Notify {
		if n.Webhook != nil && n.Webhook.Secret != nil {
			all = append(all, n.Webhook.Secret.File)
		}
	}
	for _, l := range f.Listen {
		all = append(all, l.TLS.Key)
	}
	for _, t := range f.Tokens {
		all = append(all, t.File)
	}
	for _, name := range sortedKeys(f.Credentials) {
		all = append(all, f.Credentials[name].Secret.File)
	}
	out := make([]string, 0, len(all))
	for _, p := range all {
		if filepath.IsAbs(p) {
			out = append(out, filepath.Clean(p))
		}
	}
	return out
}

// Apart refuses a state folder and a sync or shadow folder of which one is the
// other or lies below it, by name or through links: a user who may push a policy
// could write the records, or a backup of the records would carry a policy along. It
// refuses an archive in the state folder, which would make no room there.
func (f File) Apart() error {
	for _, resolve := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		if archive, err := resolve(f.Audit.Archive); err == nil && f.Audit.Archive != "" {
			if state, err := resolve(f.State); err == nil && below(state, archive) {
				return fmt.Errorf("audit.archive %s is in the state folder %s: use a folder outside it",
					f.Audit.Archive, f.State)
			}
		}
		for _, pushed := range []struct{ what, path string }{{"sync", f.Sync}, {"shadow", f.Shadow}} {
			if pushed.path == "" {
				continue
			}
			dir, errDir := resolve(pushed.path)
			state, errState := resolve(f.State)
			if errDir != nil || errState != nil {
				continue // not there yet
			}
			if below(dir, state) {
				return fmt.Errorf("state folder %s is in the %s folder %s: anyone who pushes a policy could write "+
					"the records", f.State, pushed.what, pushed.path)
			}
			if below(state, dir) {
				return fmt.Errorf("%s folder %s is in the state folder %s, which is only for ringd's records: use a "+
					"folder outside it", pushed.what, pushed.path, f.State)
			}
		}
	}
	return nil
}

// below reports whether a path is a folder, or lies in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

func (r Roles) check() error {
	var errs []error
	for _, l := range []struct {
		role string
		ids  []string
	}{{"harness", r.Harness}, {"approver", r.Approver}, {"operator", r.Operator}, {"viewer", r.Viewer}} {
		for _, id := range l.ids {
			if _, _, err := parseID(id); err != nil {
				errs = append(errs, fmt.Errorf("roles.%s: %w", l.role, err))
			}
			if l.role == "approver" && slices.Contains(r.Harness, id) {
				errs = append(errs, fmt.Errorf("roles: %s is a harness and an approver; a harness can never approve",
					id))
			}
		}
	}
	return errors.Join(errs...)
}

// parseID reads "uid:1000" or "gid:1000".
func parseID(s string) (kind string, id uint32, err error) {
	kind, num, _ := strings.Cut(s, ":")
	n, err := strconv.ParseUint(num, 10, 32)
	if err != nil || (kind != "uid" && kind != "gid") {
		return "", 0, fmt.Errorf("%q: want uid:NUMBER or gid:NUMBER", s)
	}
	return kind, uint32(n), nil
}

func checkBridges(bridges map[string]Bridge) error {
	var errs []error
	for _, name := range sortedKeys(bridges) {
		b := bridges[name]
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("bridges.%s: "+format, append([]any{name}, args...)...))
		}
		switch b.Provider {
		case "command":
			if len(b.Command) == 0 {
				bad("provider command needs command: [PROGRAM, ARGUMENT…]")
			} else if !filepath.IsAbs(b.Command[0]) {
				bad("command %q is not an absolute path", b.Command[0])
			}
			if b.Dir != "" && !filepath.IsAbs(b.Dir) {
				bad("dir %q is not an absolute path", b.Dir)
			}
			for _, name := range sortedKeys(b.Env) {
				if name == "" || strings.ContainsAny(name, "=\x00") || strings.HasPrefix(name, "RINGD_") ||
					strings.ContainsRune(b.Env[name], 0) {
					bad("env %q is not a variable that can be set", name)
				}
			}
		case "harness", "log":
			if len(b.Command) != 0 || b.Dir != "" || len(b.Env) != 0 || b.Idempotent {
				bad("provider %s takes no command, dir, env or idempotent", b.Provider)
			}
		default:
			bad("provider %q: want command, harness or log", b.Provider)
		}
	}
	return errors.Join(errs...)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
