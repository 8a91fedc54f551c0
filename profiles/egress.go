package profiles

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ringd/ringd/profiles/canonjson"
	"github.com/ringd/ringd/profiles/egress"
)

const (
	httpsPort = 443 // default port of a host without a port
	maxPort   = 1<<16 - 1
)

// encodedEgress is the encoded form of an egress action. Host and Port are the short form of Kind and Target.
type encodedEgress struct {
	Host string `json:"host"`
	Port *int   `json:"port"`
	egress.Action
}

// decodeEgress reads a request, or its short form: a host with a port.
func decodeEgress(raw json.RawMessage) (*egress.Action, error) {
	var w encodedEgress
	if err := canonjson.Strict("egress", raw, &w); err != nil {
		return nil, err
	}
	// An empty target is decided like any other, so test for presence, not for content.
	var has map[string]json.RawMessage
	if err := json.Unmarshal(raw, &has); err != nil {
		return nil, errors.New("egress is not valid")
	}
	there := func(name string) bool { _, ok := has[name]; return ok }
	short := there("host") && !there("kind") && !there("target")
	whole := there("kind") && there("target") && !there("host") && !there("port")
	switch {
	case short:
		if err := w.expandShortForm(); err != nil {
			return nil, err
		}
	case !whole:
		return nil, errors.New("egress has host and port, or kind and target")
	}
	return &w.Action, egress.CheckActionJSON(w.Kind, raw)
}

// expandShortForm turns the short form into Kind and Target: a connection if no request field is set, otherwise a
// request. fetch makes requests on the TLS port, and on every other port a request is readable.
func (w *encodedEgress) expandShortForm() error {
	port := httpsPort
	if w.Port != nil {
		port = *w.Port
	}
	if port < 1 || port > maxPort {
		return errors.New("egress.port is from 1 to 65535")
	}
	host, err := authority(w.Host)
	if err != nil {
		return err
	}
	at := host + ":" + strconv.Itoa(port)
	if w.Method == "" && w.Path == "" {
		w.Kind, w.Target = egress.KindConnect, at
		return nil
	}
	if w.Method == "" {
		w.Method = "GET"
	}
	w.Kind, w.Target = egress.KindHTTP, "http://"+at
	if port == httpsPort {
		w.Kind, w.Target = egress.KindFetch, "https://"+at
	}
	w.Target += "/" + strings.TrimPrefix(w.Path, "/")
	w.Path = ""
	return nil
}

// authority returns the host as it is written in a target. It rejects characters that end the host of a URL,
// because the target would then name another host.
func authority(host string) (string, error) {
	if strings.ContainsAny(host, `/\?#@`) {
		return "", errors.New("egress.host is a host alone: write what follows it as port and path")
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if !strings.Contains(bare, ":") {
		return host, nil
	}
	if _, err := netip.ParseAddr(bare); err != nil {
		return "", errors.New("egress.host is a host alone: write its port as port")
	}
	return "[" + bare + "]", nil
}
