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
	httpsPort = 443 // of a host that is written without a port
	maxPort   = 1<<16 - 1
)

// writtenEgress has the fields of an egress action. Host and Port are the short
// form of Kind and Target.
type writtenEgress struct {
	Host string `json:"host"`
	Port *int   `json:"port"`
	egress.Action
}

// decodeEgress reads a request, or a host with a port, which stands for one.
func decodeEgress(raw json.RawMessage) (*egress.Action, error) {
	var w writtenEgress
	if err := canonjson.Strict("egress", raw, &w); err != nil {
		return nil, err
	}
	var has map[string]json.RawMessage // what is there counts, and not what is in it: an empty target is decided
	if err := json.Unmarshal(raw, &has); err != nil {
		return nil, errors.New("egress is not valid")
	}
	there := func(name string) bool { _, ok := has[name]; return ok }
	short := there("host") && !there("kind") && !there("target")
	whole := there("kind") && there("target") && !there("host") && !there("port")
	switch {
	case short:
		if err := w.lengthen(); err != nil {
			return nil, err
		}
	case !whole:
		return nil, errors.New("egress has host and port, or kind and target")
	}
	return &w.Action, egress.CheckActionJSON(w.Kind, raw)
}

// lengthen says what reaches the host: a connection where nothing is said of the
// request, and else the request. It is readable on any port but that of TLS, where
// fetch makes it.
func (w *writtenEgress) lengthen() error {
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

// authority is a host as a target has it. What would end the host in a URL is
// refused: the target would be of another one.
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
