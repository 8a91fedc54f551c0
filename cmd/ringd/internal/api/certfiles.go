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

// maxFile limits the size of a certificate or key file.
const maxFile = 1 << 20

// certFiles caches the files on disk. Every handshake checks whether they have changed.
type certFiles struct {
	cfg    PortConfig
	logger *slog.Logger

	mu     sync.Mutex
	stamps []fileStamp // of the last read, valid or not
	now    *tls.Config
}

// fileStamp identifies the content of a file.
type fileStamp struct {
	info fs.FileInfo
	err  bool
}

func (s fileStamp) same(o fileStamp) bool {
	if s.err || o.err {
		return s.err == o.err
	}
	return os.SameFile(s.info, o.info) && s.info.ModTime().Equal(o.info.ModTime()) &&
		s.info.Size() == o.info.Size() && s.info.Mode() == o.info.Mode()
}

func readFiles(cfg PortConfig) (*certFiles, error) {
	f := &certFiles{cfg: cfg, logger: cfg.Logger}
	f.stamps = f.look()
	var err error
	f.now, err = f.load()
	return f, err
}

// server returns the TLS configuration. Each connection uses the files as they are at its handshake. The
// versions set here apply to a client that is refused before.
func (f *certFiles) server() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		SessionTicketsDisabled: true,
		GetConfigForClient:     func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.current(), nil },
	}
}

// current reads the files again if they have changed. If they are invalid, it logs that once and keeps the
// previous ones.
func (f *certFiles) current() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	stamps := f.look()
	if slices.EqualFunc(stamps, f.stamps, fileStamp.same) {
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

func (f *certFiles) look() []fileStamp {
	var out []fileStamp
	for _, name := range []string{f.cfg.Cert, f.cfg.Key, f.cfg.ClientCA} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		out = append(out, fileStamp{info, err != nil})
	}
	return out
}

// load reads all files, or returns an error.
func (f *certFiles) load() (*tls.Config, error) {
	// A user who can read the key can impersonate the daemon. A user who can write the certificates could
	// grant itself access.
	cert, err := readFile(f.cfg.Cert, 0o022, "can be written by others", "chmod go-w")
	if err != nil {
		return nil, fmt.Errorf("tls.cert: %w", err)
	}
	key, err := readFile(f.cfg.Key, 0o077, "can be read by others", "chmod 600")
	if err != nil {
		return nil, fmt.Errorf("tls.key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	c := &tls.Config{
		MinVersion:             tls.VersionTLS13, // also for the result of GetConfigForClient
		Certificates:           []tls.Certificate{pair},
		NextProtos:             []string{"http/1.1"},
		SessionTicketsDisabled: true, // so a removed authority counts at the next connection
	}
	if f.cfg.ClientCA == "" {
		return c, nil
	}
	authorities, err := readFile(f.cfg.ClientCA, 0o022, "can be written by others", "chmod go-w")
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

// readFile returns the content of a file whose mode has no bit of wrong.
func readFile(name string, wrong fs.FileMode, says, remedy string) (_ []byte, err error) {
	if !filepath.IsAbs(name) {
		return nil, fmt.Errorf("%q is not an absolute path", name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block handshakes on a pipe
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
