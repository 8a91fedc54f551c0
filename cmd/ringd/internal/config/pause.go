package config

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Snapshots configures the keys that seal waiting runs, and the engines that can resume them.
type Snapshots struct {
	// Key seals, and Previous are old keys that only open. If there is no Key, one is created in the state
	// folder.
	Key      *Secret  `yaml:"key"`
	Previous []Secret `yaml:"previous"`
	// Engines are guests of other engines: the digest of an engine, and the command of an older ringd that
	// has it. argv[0] is absolute.
	Engines map[string][]string `yaml:"engines"`
}

// Secret is the location of a secret. Exactly one field is set.
type Secret struct {
	File       string `yaml:"file"`       // absolute path; readable only by its owner
	Credential string `yaml:"credential"` // name of a systemd credential
	Env        string `yaml:"env"`        // name of a variable of the daemon
}

// Notification is one receiver of notifications about waiting calls. Exactly one field is set.
type Notification struct {
	Webhook *Webhook `yaml:"webhook"`
	Command []string `yaml:"command"` // argv; gets JSON on stdin
}

// Webhook is a receiver of the Standard Webhooks format.
type Webhook struct {
	URL    string    `yaml:"url"`
	Secret *Secret   `yaml:"secret"`  // "whsec_" and base64, as at the receiver
	Args   bool      `yaml:"args"`    // also send the arguments of the call
	Within *Duration `yaml:"timeout"` // time of one attempt; nil means 10s
}

// maxSecret limits the size of a secret, in bytes.
const maxSecret = 4 << 10

var (
	digest   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	audience = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}$`)
	owner    = regexp.MustCompile(`^(user|team|group):\S+$`)
)

func (s Secret) check() error {
	n := 0
	for _, v := range []string{s.File, s.Credential, s.Env} {
		if v != "" {
			n++
		}
	}
	switch {
	case n != 1:
		return errors.New("want exactly one of file, credential and env")
	case s.File != "" && !filepath.IsAbs(s.File):
		return fmt.Errorf("file: %q is not an absolute path", s.File)
	case s.Credential != "" && (s.Credential != filepath.Base(s.Credential) || s.Credential == "." ||
		s.Credential == ".."):
		return fmt.Errorf("credential: %q is not a name", s.Credential)
	case s.Env != "" && !variable.MatchString(s.Env):
		return fmt.Errorf("env: %q is not the name of a variable", s.Env)
	}
	return nil
}

// Path returns the file of the secret, or "" for a variable. A credential without systemd's folder is an
// error.
func (s Secret) Path(e Environment) (string, error) {
	switch {
	case s.File != "":
		return s.File, nil
	case s.Credential != "" && e.Credentials == "":
		return "", fmt.Errorf("credential %s: systemd gave this process none (LoadCredential= in its unit)",
			s.Credential)
	case s.Credential != "":
		return filepath.Join(e.Credentials, s.Credential), nil
	default:
		return "", nil
	}
}

// Value reads the secret and trims it. A file that other users can read is refused. An error never contains
// the secret.
func (s Secret) Value(e Environment) (string, error) {
	if s.Env != "" {
		v := os.Getenv(s.Env)
		if v == "" {
			return "", fmt.Errorf("the variable %s is not set", s.Env)
		}
		return strings.TrimSpace(v), nil
	}
	path, err := s.Path(e)
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("read secret: %w", err)
	case !st.Mode().IsRegular():
		return "", fmt.Errorf("read secret: %s is not a file", path)
	case st.Size() > maxSecret:
		return "", fmt.Errorf("read secret: %s is larger than %d bytes", path, maxSecret)
	}
	if s.File != "" {
		if err := checkPrivate(f); err != nil {
			return "", fmt.Errorf("read secret: %w", err)
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	v := strings.TrimSpace(string(b))
	if v == "" {
		return "", fmt.Errorf("read secret: %s is empty", path)
	}
	return v, nil
}

func (s Snapshots) check() error {
	var errs []error
	if s.Key != nil {
		if err := s.Key.check(); err != nil {
			errs = append(errs, fmt.Errorf("snapshots.key: %w", err))
		}
	}
	for i, p := range s.Previous {
		if err := p.check(); err != nil {
			errs = append(errs, fmt.Errorf("snapshots.previous[%d]: %w", i, err))
		}
	}
	for _, d := range sortedKeys(s.Engines) {
		argv := s.Engines[d]
		if !digest.MatchString(d) {
			errs = append(errs, fmt.Errorf("snapshots.engines: %q is not the digest of an engine (sha256: and 64 "+
				"hexadecimal digits)", d))
		}
		if len(argv) == 0 || !filepath.IsAbs(argv[0]) {
			errs = append(errs, fmt.Errorf("snapshots.engines.%s: want [PROGRAM, ARGUMENT…] with an absolute path", d))
		}
	}
	return errors.Join(errs...)
}

// checkApprovers checks the map of owners. An approver in it may not be a harness.
func checkApprovers(approvers map[string][]string, harness []string, tokens []Token) error {
	var errs []error
	for _, name := range sortedKeys(approvers) {
		if !owner.MatchString(name) {
			errs = append(errs, fmt.Errorf("approvers: %q is not an owner such as user:a@b.example, team:… or group:…",
				name))
		}
		if len(approvers[name]) == 0 {
			errs = append(errs, fmt.Errorf("approvers.%s: the list is empty", name))
		}
		for _, id := range approvers[name] {
			if token, ok := strings.CutPrefix(id, "token:"); ok {
				if !isApprover(tokens, token) {
					errs = append(errs, fmt.Errorf("approvers.%s: %s is not the token of an approver", name, id))
				}
			} else if _, _, err := parseID(id); err != nil {
				errs = append(errs, fmt.Errorf("approvers.%s: %w", name, err))
			} else if slices.Contains(harness, id) {
				errs = append(errs, fmt.Errorf("approvers.%s: %s is a harness; a harness can never approve", name, id))
			}
		}
	}
	return errors.Join(errs...)
}

func checkNotify(list []Notification) error {
	var errs []error
	for i, n := range list {
		if err := n.check(); err != nil {
			errs = append(errs, fmt.Errorf("notify[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

func (n Notification) check() error {
	switch {
	case (n.Webhook == nil) == (len(n.Command) == 0):
		return errors.New("want exactly one of webhook and command")
	case n.Webhook == nil && !filepath.IsAbs(n.Command[0]):
		return fmt.Errorf("command %q is not an absolute path", n.Command[0])
	case n.Webhook == nil:
		return nil
	}
	w := n.Webhook
	u, err := url.Parse(w.URL)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return errors.New("webhook.url: want https://HOST/…")
	case u.User != nil:
		return errors.New("webhook.url: it must not contain a password; the secret signs requests")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("webhook.url: http is for this host alone; want https")
	case w.Secret == nil:
		return errors.New("webhook.secret: it is missing; the receiver needs it to verify requests")
	case w.Within != nil && *w.Within == 0:
		return errors.New("webhook.timeout: 0 leaves no time for a request")
	}
	if err := w.Secret.check(); err != nil {
		return fmt.Errorf("webhook.secret: %w", err)
	}
	return nil
}

func loopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
