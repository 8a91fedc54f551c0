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

// MaxFile limits the size of a config file, in bytes.
const MaxFile = 1 << 20

// maxRequestRecords is more than any log can take in a second.
const maxRequestRecords = 1_000_000

// File is the daemon's config file. The zero File is a daemon with no policy and no bridges. Its only actors
// are root and its own user.
type File struct {
	Sync   string `yaml:"sync"`   // policy folder
	Shadow string `yaml:"shadow"` // folder of a candidate policy that decides in parallel; may be empty
	State  string `yaml:"state"`  // folder of audit log and store
	Socket string `yaml:"socket"` // path of the Unix socket
	// SocketGroup is the group, by name or number, whose users may connect to the socket. If it is empty, it
	// is the group of the daemon's user. Roles says what each user may do.
	SocketGroup string `yaml:"socketGroup"`

	// how long a generation stays in force without a good push; nil means 10m
	Staleness *Duration         `yaml:"staleness"`
	Audit     Audit             `yaml:"audit"`
	Watch     watch             `yaml:"watch"` // how the sync folder is watched
	Roles     Roles             `yaml:"roles"`
	Workspace Workspace         `yaml:"workspace"`
	Bridges   map[string]Bridge `yaml:"bridges"` // by the name in the policy
	Limits    Limits            `yaml:"limits"`
	Snapshots Snapshots         `yaml:"snapshots"`
	Guests    Guests            `yaml:"guests"`
	Python    Python            `yaml:"python"`
	// Approvers lists who stands for the owners that policies name in `approval.from`:
	// "group:leads@acme.example": ["uid:1001", "gid:500", "token:ann"].
	Approvers map[string][]string `yaml:"approvers"`
	Notify    []Notification      `yaml:"notify"` // notified when a call waits for an approver
	// Listen lists the TCP addresses besides the socket, and Tokens the callers there.
	Listen []Listener `yaml:"listen"`
	Tokens []Token    `yaml:"tokens"`
	// Credentials are added by gateways. Gateways gives each gateway its upstream. Both are keyed by the
	// names in policies.
	Credentials map[string]Credential `yaml:"credentials"`
	Gateways    map[string]Gateway    `yaml:"gateways"`
	Egress      Egress                `yaml:"egress"`
	// Trust names the signers of pushes. If it is nil, the sync folder holds the policy's sources, and every
	// user that can write it is trusted.
	Trust *Trust `yaml:"trust"`
}

// watch configures the checks of the sync folder and the shadow folder. Nil fields mean the defaults of the
// daemon.
type watch struct {
	Poll *Duration `yaml:"poll"` // interval of checks of names, sizes and times if there are no events; nil means 1s
	// time without an event before a check, so that changes within it are one push; nil means 100ms, or 25ms
	// with trust
	Quiet *Duration `yaml:"quiet"`
	// time that a file must be unchanged if the system cannot tell whether it is open; nil means 2s
	Settle *Duration `yaml:"settle"`
}

// check refuses values with which changes would be missed or the daemon would be busy.
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

// Roles assigns roles to uids and gids: "uid:1000", "gid:2000". A harness may not be an approver.
type Roles struct {
	Harness  []string `yaml:"harness"`  // starts runs and answers their calls
	Approver []string `yaml:"approver"` // approves calls
	Operator []string `yaml:"operator"` // cancels and reads everything
	Viewer   []string `yaml:"viewer"`   // reads
}

// Bridge configures how the calls of one bridge are performed.
type Bridge struct {
	Provider string   `yaml:"provider"` // command, harness or log
	Command  []string `yaml:"command"`  // argv; argv[0] absolute
	// Dir is the command's folder, absolute. If it is empty, it is /. Env holds variables besides PATH and
	// the RINGD_ ones.
	Dir string            `yaml:"dir"`
	Env map[string]string `yaml:"env"`
	// Idempotent states that the command, run again with the same RINGD_IDEMPOTENCY_KEY, acts only once.
	Idempotent bool `yaml:"idempotent"`
}

// Workspace gives the value of $WORKSPACE in policies. If an agent has none, a grant below $WORKSPACE grants
// nothing to it. A caller cannot set it.
type Workspace struct {
	Default string            `yaml:"default"`
	Agents  map[string]string `yaml:"agents"` // by agent name
}

// Of returns the workspace of an agent, or "".
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

// Limits limits the daemon. Zero fields mean the defaults.
type Limits struct {
	Runs         int       `yaml:"runs"`         // live runs in all
	RunsPerActor int       `yaml:"runsPerActor"` // live runs of one actor
	Drain        *Duration `yaml:"drain"`        // time for live runs to end at SIGTERM
	// Paused limits waiting runs in the store, in all and of one actor.
	Paused         int `yaml:"paused"`
	PausedPerActor int `yaml:"pausedPerActor"`
	// PausedBytesPerActor limits the size of the records of one actor's waiting runs.
	PausedBytesPerActor Size `yaml:"pausedBytesPerActor"`
	// WaitingCalls and WaitingBytes limit the calls of one agent and actor that wait for approvers: their
	// number, and the size of their arguments.
	WaitingCalls int  `yaml:"waitingCalls"`
	WaitingBytes Size `yaml:"waitingBytes"`
	// RequestRecords is the number of audit records per second that one caller may cause with requests of one
	// kind outside of runs.
	RequestRecords int       `yaml:"requestRecords"`
	Retention      *Duration `yaml:"retention"` // how long finished runs are kept
	// RecordsPerRun limits the audit records of one run, in bytes. A run above it is ended.
	RecordsPerRun Size `yaml:"recordsPerRun"`
	// FreeSpace is the free space on the disk of the state folder below which new runs are refused.
	FreeSpace Size `yaml:"freeSpace"`
}

// Guests configures how guest processes are started.
type Guests struct {
	// UID is the first user of guests if ringd is root, and also their group. It owns their files. Zero means
	// the default.
	UID int `yaml:"uid"`
	// Count is the number of users from UID on, which nothing else on the host may use. One is for files, one
	// for guests without an agent, and one for each agent that has guests at the same time. Zero means the
	// default if UID is zero too. Otherwise it means 1, one user for all guests.
	Count int `yaml:"count"`
	// Processors is the number of processors of one guest. Zero means 1. With more, the threads of a guest
	// can take time from other processes of the host.
	Processors int `yaml:"processors"`
}

// Default users of guests. A test compares them with those of rings/kernel.
const (
	defaultGuestUID   = 1879048192
	defaultGuestCount = 65536
)

// users returns the first user of guests, and their number.
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

// check refuses guest users that have a role.
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

// Python configures the interpreter of Python programs and its pool.
type Python struct {
	// Interpreter is an absolute path. If it is empty, the host's interpreter is used.
	Interpreter string `yaml:"interpreter"`
	Ready       *int   `yaml:"ready"`    // pre-started, for each agent that was used; nil means 1
	Sessions    *int   `yaml:"sessions"` // kept between runs; nil means 16
	// Idle is how long an unused session is kept; nil means 15m. Memory limits the bytes of its interpreter;
	// zero means the limit of the policy.
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

// Span parses a duration of a flag or of this file. It accepts those of policies, such as 30s or 1d, and
// several units, such as 1h30m. It refuses negative ones.
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

// Duration is a duration such as 500ms, 30s, 5m, 2h or 1d.
type Duration time.Duration

// UnmarshalYAML parses a duration. A number without a unit is refused, except 0.
func (d *Duration) UnmarshalYAML(b []byte) error {
	s := strings.Trim(strings.TrimSpace(string(b)), `"'`)
	v, err := Span(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 500ms, 30s, 5m, 2h or 1d", s)
	}
	*d = Duration(v)
	return nil
}

// Read decodes a config file. name is used in errors. An error about a place is "name:line:column: message".
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
		return File{}, withPosition(name, err)
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return File{}, fmt.Errorf("%s: holds more than one document", name)
	}
	var all any
	if err := yaml.Unmarshal(data, &all); err != nil {
		return File{}, withPosition(name, err)
	}
	if at := missingValue(all); at != "" {
		return File{}, fmt.Errorf("%s: %s is empty: write a value, or leave it out", name, at)
	}
	if err := f.check(); err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// missingValue returns the first field, by name, that has no value, or "". A decoder treats such a field as
// omitted, and an omitted field may be less strict: without trust, every user of the folder may push. A
// section that only grants may be empty: the sections of the example have only comments.
func missingValue(v any) string {
	gives := []string{"approvers", "bridges", "credentials", "egress", "gateways", "limits", "listen", "notify",
		"python", "roles", "snapshots", "tokens", "watch", "workspace"}
	all, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == nil && slices.Contains(gives, name) {
			continue
		}
		if at, found := findEmpty(all[name]); found {
			return name + at
		}
	}
	return ""
}

// findEmpty searches v for a missing value.
func findEmpty(v any) (at string, found bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if at, found := findEmpty(v[name]); found {
				return "." + name + at, true
			}
		}
	case []any:
		for i := range v {
			if at, found := findEmpty(v[i]); found {
				return fmt.Sprintf("[%d]%s", i, at), true
			}
		}
	}
	return "", false
}

// withPosition adds the position to a decoder's error.
func withPosition(name string, err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		p := at.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", name, p.Line, p.Column, rewordError(at.GetMessage()))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// rewordError replaces the Go type in an error by the expected value, and omits the wrong value.
func rewordError(message string) string {
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

// Private returns the paths that no guest may have: the daemon's folders, and the files of its secrets. They
// are absolute and clean.
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

// Apart refuses a state folder that is the sync or shadow folder, or that contains it or is below it, by name
// or through links. Otherwise a user who may push a policy could write the records, or a backup of the
// records would carry a policy. It also refuses an archive in the state folder, where it would free no space.
func (f File) Apart() error {
	for _, resolve := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		if archive, err := resolve(f.Audit.Archive); err == nil && f.Audit.Archive != "" {
			if state, err := resolve(f.State); err == nil && isBelow(state, archive) {
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
				continue // does not exist yet
			}
			if isBelow(dir, state) {
				return fmt.Errorf("state folder %s is in the %s folder %s: anyone who pushes a policy could write "+
					"the records", f.State, pushed.what, pushed.path)
			}
			if isBelow(state, dir) {
				return fmt.Errorf("%s folder %s is in the state folder %s, which is only for ringd's records: use a "+
					"folder outside it", pushed.what, pushed.path, f.State)
			}
		}
	}
	return nil
}

// isBelow reports whether path is dir or is below it.
func isBelow(dir, path string) bool {
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

// parseID parses "uid:1000" or "gid:1000".
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
