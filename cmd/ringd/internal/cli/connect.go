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

// Daemon is where a verb finds the daemon. Its zero value is the socket that the
// environment says.
type Daemon struct {
	Socket string
	URL    string // of a daemon that listens on TCP
	// With URL: the file of the token, the authorities that are trusted ("": the
	// host's), and the client's certificate, where the daemon asks for one.
	TokenFile, CA, Cert, Key string
}

// Bind binds the flags that name a daemon.
func (d *Daemon) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.Socket, "socket", "", "the daemon's socket (default: $RINGD_SOCKET)")
	d.BindRemote(cmd)
}

// BindRemote binds those of a daemon that listens on TCP.
func (d *Daemon) BindRemote(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.URL, "url", "", "https://HOST:PORT, a daemon that listens there")
	f.StringVar(&d.TokenFile, "token-file", "", "with --url (default: $RINGD_TOKEN_FILE)")
	f.StringVar(&d.CA, "ca", "", "with --url: authorities to trust, PEM")
	f.StringVar(&d.Cert, "cert", "", "with --url: the client's certificate, PEM")
	f.StringVar(&d.Key, "cert-key", "", "with --url: the certificate's key, PEM")
	for _, flag := range []string{"token-file", "ca", "cert", "cert-key"} {
		_ = cmd.MarkFlagFilename(flag) // it stands above
	}
	_ = cmd.RegisterFlagCompletionFunc("url", cobra.NoFileCompletions)
}

// Named reports whether a flag says where the daemon is.
func (d Daemon) Named() bool { return d.Socket != "" || d.URL != "" }

// Flag is the flag that says it.
func (d Daemon) Flag() string {
	if d.URL != "" {
		return "--url"
	}
	return "--socket"
}

// Hint is the flags that name the daemon, as a command that is shown carries them:
// none where the environment says where it is.
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

// Check refuses flags that do not go together.
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

// remote reads the files of a daemon that listens on TCP.
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
