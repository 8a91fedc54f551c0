package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/schema/client"
)

// Daemon is the address of a daemon. Its zero value is the socket from the environment.
type Daemon struct {
	Socket string
	URL    string // of a daemon that listens on TCP
	// For URL: the files of the token, of the trusted authorities (empty means the host's), and of the
	// client's certificate, if the daemon requires one.
	TokenFile, CA, Cert, Key string
}

// Bind adds the flags that select a daemon.
func (d *Daemon) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.Socket, "socket", "", "the daemon's socket (default: $RINGD_SOCKET)")
	d.BindRemote(cmd)
}

// BindRemote adds the flags for a daemon that listens on TCP.
func (d *Daemon) BindRemote(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.URL, "url", "", "https://HOST:PORT, a daemon that listens there")
	f.StringVar(&d.TokenFile, "token-file", "", "with --url (default: $RINGD_TOKEN_FILE)")
	f.StringVar(&d.CA, "ca", "", "with --url: authorities to trust, PEM")
	f.StringVar(&d.Cert, "cert", "", "with --url: the client's certificate, PEM")
	f.StringVar(&d.Key, "cert-key", "", "with --url: the certificate's key, PEM")
	for _, flag := range []string{"token-file", "ca", "cert", "cert-key"} {
		_ = cmd.MarkFlagFilename(flag) // the flag is defined above
	}
	_ = cmd.RegisterFlagCompletionFunc("url", cobra.NoFileCompletions)
}

// Named reports whether a flag selects the daemon.
func (d Daemon) Named() bool { return d.Socket != "" || d.URL != "" }

// Flag returns the name of that flag.
func (d Daemon) Flag() string {
	if d.URL != "" {
		return "--url"
	}
	return "--socket"
}

// Hint returns the flags that select the daemon, for a command that is shown. It is empty if the environment
// selects it.
func (d Daemon) Hint() string {
	var b strings.Builder
	for _, f := range [][2]string{{"socket", d.Socket}, {"url", d.URL}, {"token-file", d.TokenFile}, {"ca", d.CA},
		{"cert", d.Cert}, {"cert-key", d.Key}} {
		if f[1] != "" {
			b.WriteString(" --" + f[0] + " " + Word(f[1]))
		}
	}
	return b.String()
}

// Check returns an error for flags that exclude each other.
func (d Daemon) Check() error {
	switch {
	case d.URL != "" && d.Socket != "":
		return Usage("--socket and --url: give only one of them")
	case d.URL == "" && (d.TokenFile != "" || d.CA != "" || d.Cert != "" || d.Key != ""):
		return Usage("--token-file, --ca, --cert and --cert-key go with --url")
	case (d.Cert == "") != (d.Key == ""):
		return Usage("--cert and --cert-key go together")
	default:
		return nil
	}
}

// Connect returns a client of the daemon at d.
func (p *Program) Connect(d Daemon) (*client.Client, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	cfg := client.Config{Socket: cmp.Or(d.Socket, p.Env.DefaultSocket())}
	if d.URL != "" {
		var err error
		if cfg, err = p.remote(d); err != nil {
			return nil, err
		}
	}
	if cfg.Socket == "" && cfg.URL == "" {
		return nil, Usage("no socket: name that of the daemon with --socket, or give --url")
	}
	c, err := client.New(cfg)
	if err != nil {
		return nil, Usage("%w", err)
	}
	return c, nil
}

// remote reads the files for a daemon that listens on TCP.
func (p *Program) remote(d Daemon) (client.Config, error) {
	none := client.Config{}
	name := cmp.Or(d.TokenFile, p.Env.Token)
	if name == "" {
		return none, Usage("--url needs a token: --token-file FILE, or $RINGD_TOKEN_FILE")
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return none, Usage("--token-file: %w", err)
	}
	token, err := config.Secret{File: abs}.Value(p.Env)
	if err != nil {
		return none, Usage("--token-file: %w", err)
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS13}
	if d.CA != "" {
		pem, err := os.ReadFile(d.CA)
		if err != nil {
			return none, Usage("--ca: %w", Bare(err))
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(pem) {
			return none, Usage("--ca: %s contains no certificate", d.CA)
		}
	}
	if d.Cert != "" {
		pair, err := tls.LoadX509KeyPair(d.Cert, d.Key)
		if err != nil {
			return none, Usage("--cert: %w", err)
		}
		secure.Certificates = []tls.Certificate{pair}
	}
	return client.Config{URL: d.URL, Token: token, TLS: secure}, nil
}
