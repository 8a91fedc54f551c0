package egress

import (
	"encoding/json"
	"errors"
	"fmt"
)

// CheckActionJSON rejects mistakes that encoding/json accepts: an unknown kind, and a header that is not one
// name and one value.
func CheckActionJSON(kind string, raw json.RawMessage) error {
	switch kind {
	case KindConnect, KindHTTP, kindSOCKS5, KindFetch, KindDNS:
	default:
		return errors.New("kind is connect, http, socks5, fetch or dns")
	}
	var text struct {
		Headers [][]string `json:"headers"`
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return errors.New("egress is not valid")
	}
	for _, h := range text.Headers {
		if len(h) != 2 {
			return fmt.Errorf("headers holds pairs of name and value, not %d words", len(h))
		}
	}
	return nil
}
