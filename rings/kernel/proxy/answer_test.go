package proxy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/socks"
)

func denied(code egress.Code) *profiles.Denial {
	return &profiles.Denial{Capability: "egress", Decision: profiles.Decision{
		Code: profiles.Code(code), Reason: "the list\r\ndoes \"not\" cover it", Instead: []string{"a.example"},
		Rule: &profiles.Rule{File: "/etc/policy.cue", Line: 3, Path: "network.egress[2]"},
	}}
}

// A refusal is a whole answer that says why and what to ask for, and not where the
// policy is.
func TestDenied(t *testing.T) {
	for _, keep := range []bool{true, false} {
		text := answerDenied([]byte("before"), denied(egress.NotGranted).Decision, keep)
		text, ok := bytes.CutPrefix(text, []byte("before"))
		if !ok {
			t.Fatal("it does not append")
		}
		in := bufio.NewReader(bytes.NewReader(text))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || in.Buffered() > 0 {
			t.Errorf("%v, and %d bytes behind the answer", err, in.Buffered())
		}
		if res.StatusCode != 403 || res.Header.Get("X-Ringd-Deny") != "egress.not_granted" || res.Close == keep {
			t.Errorf("%s %v", res.Status, res.Header)
		}
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		note, _ := got["note"].(string)
		delete(got, "note")
		want := map[string]any{"code": "egress.not_granted", "reason": "the list\r\ndoes \"not\" cover it",
			"rule": "network.egress[2]", "instead": []any{"a.example"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(note, "another way will be refused too") {
			t.Errorf("note %q", note)
		}
	}
}

// A fault says nothing of what it was.
func TestFor(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		header string
		reply  socks.Reply
	}{
		{denied(egress.Port), 403, "egress.port", socks.NotAllowed},
		{fmt.Errorf("dial: %w", denied(egress.Address)), 403, "egress.address", socks.NotAllowed},
		{denied(egress.NoAddress), 502, "egress.no_address", socks.HostUnreachable},
		{errors.New("dial tcp 10.1.2.3:443: connection refused"), 502, "", socks.Refused},
		{fmt.Errorf("dial 10.1.2.3: %w", os.ErrDeadlineExceeded), 502, "", socks.HostUnreachable},
	} {
		text := answerFor(tt.err)
		res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tt.status || res.Header.Get("X-Ringd-Deny") != tt.header ||
			bytes.Contains(text, []byte("10.1.2.3")) {
			t.Errorf("%v:\n%s", tt.err, text)
		}
		if noAddress := tt.header == "egress.no_address"; strings.HasSuffix(
			res.Status, "The Name Has No Address") != noAddress {
			t.Errorf("%v: status %q", tt.err, res.Status)
		}
		if got := socksReply(tt.err); got != tt.reply {
			t.Errorf("%v: reply %d, want %d", tt.err, got, tt.reply)
		}
	}
	if got := socksReply(nil); got != socks.Succeeded {
		t.Errorf("reply %d", got)
	}
}
