package api

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// maxFile bounds a file of certificates or a key.
const maxFile = 1 << 20

// files is what lies on disk, as it was read last. Every handshake looks whether
// it has changed.
type files struct {
	cfg    PortConfig
	logger *slog.Logger

	mu     sync.Mutex
	stamps []stamp // of what was read last, good or not
	now    *tls.Config
}

// stamp tells one content of a file from another.
type stamp struct {
	info fs.FileInfo
	err  bool
}

func (s stamp) same(o stamp) bool {
	if s.err || o.err {
		return s.err == o.err
	}
	return os.SameFile(s.info, o.info) && s.info.ModTime().Equal(o.info.ModTime()) &&
		s.info.Size() == o.info.Size() && s.info.Mode() == o.info.Mode()
}

func readFiles(cfg PortConfig) (*files, error) {
	f := &files{cfg: cfg, logger: cfg.Logger}
	f.stamps = f.look()
	var err error
	f.now, err = f.load()
	return f, err
}

// server is the configuration of one connection: it takes what lies there at the
// moment of the handshake. Its own versions stand for a client that is refused
// before.
func (f *files) server() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		GetConfigForClient:     func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.current(), nil },
	}
}

// current reads the files again when they have changed. What does not hold is
// logged once, and what stood before stands.
func (f *files) current() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	stamps := f.look()
	if slices.EqualFunc(stamps, f.stamps, stamp.same) {
		return f.now
	}
	f.stamps = stamps
	next, err := f.load()
	if err != nil {
		f.logger.Error("the changed certificate is not valid: the old one stays in use", "error", err)
		return f.now
	}
	f.now = next
	f.logger.Info("the certificate was changed", "cert", f.cfg.Cert)
	return f.now
}

func (f *files) look() []stamp {
	var out []stamp
	for _, name := range []string{f.cfg.Cert, f.cfg.Key, f.cfg.ClientCA} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		out = append(out, stamp{info, err != nil})
	}
	return out
}

// load reads everything, or nothing.
func (f *files) load() (*tls.Config, error) {
	// Others who can read the key are the daemon; others who can write the
	// certificates could let themselves in.
	cert, err := read(f.cfg.Cert, 0o022, "can be written by others", "chmod go-w")
	if err != nil {
		return nil, fmt.Errorf("tls.cert: %w", err)
	}
	key, err := read(f.cfg.Key, 0o077, "can be read by others", "chmod 600")
	if err != nil {
		return nil, fmt.Errorf("tls.key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	c := &tls.Config{
		MinVersion:             tls.VersionTLS13, // also of what GetConfigForClient returns
		Certificates:           []tls.Certificate{pair},
		NextProtos:             []string{"http/1.1"},
		SessionTicketsDisabled: true, // a taken-back authority counts at the next connection
	}
	if f.cfg.ClientCA == "" {
		return c, nil
	}
	authorities, err := read(f.cfg.ClientCA, 0o022, "can be written by others", "chmod go-w")
	if err != nil {
		return nil, fmt.Errorf("clientCA: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("clientCA: %s contains no certificate", f.cfg.ClientCA)
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	return c, nil
}

// read returns a file whose mode has nothing of wrong.
func read(name string, wrong fs.FileMode, says, remedy string) (_ []byte, err error) {
	if !filepath.IsAbs(name) {
		return nil, fmt.Errorf("%q is not an absolute path", name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hold up handshakes
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Mode().Perm()&wrong != 0:
		return nil, fmt.Errorf("%s %s (mode %04o): %s it", name, says, info.Mode().Perm(), remedy)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return b, err
}
