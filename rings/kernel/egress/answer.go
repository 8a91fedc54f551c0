package egress

import (
	"encoding/json"
	"errors"
	"net"
	"strconv"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/socks"
)

// another tells a program that looks for a way around a policy to stop.
const another = "This is the policy that is in force; another way will be refused as well."

// refusedBody is what a program reads of a refusal. It never has an address that
// was looked up.
type refusedBody struct {
	Code    string   `json:"code"`
	Reason  string   `json:"reason"`
	Rule    string   `json:"rule,omitempty"`
	Instead []string `json:"instead,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// appendDenied appends a whole answer of HTTP that refuses.
func appendDenied(dst []byte, d profiles.Decision, keep bool) []byte {
	body := refusedBody{Code: string(d.Code), Reason: d.Reason, Instead: d.Instead, Note: another}
	if d.Rule != nil {
		body.Rule = d.Rule.Path
	}
	status := "403 Forbidden"
	if d.Code == profiles.Code(egress.NoAddress) {
		status, body.Note = "502 Bad Gateway", ""
	}
	return appendAnswer(dst, status, "X-Ringd-Deny: "+string(d.Code), body, keep)
}

// appendUnreachable appends the answer for what is allowed and was not reached.
func appendUnreachable(dst []byte, keep bool) []byte {
	return appendAnswer(dst, "502 Bad Gateway", "X-Ringd-Error: unreachable", refusedBody{Code: "unreachable", Reason: "the host could not be reached"}, keep)
}

func appendAnswer(dst []byte, status, header string, body refusedBody, keep bool) []byte {
	text, err := json.Marshal(body)
	if err != nil { // of strings alone: it has no error
		text = []byte("{}")
	}
	dst = append(dst, "HTTP/1.1 "...)
	dst = append(dst, status...)
	dst = append(dst, "\r\n"...)
	dst = append(dst, header...)
	dst = append(dst, "\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(text))+1, 10)
	if !keep {
		dst = append(dst, "\r\nConnection: close"...)
	}
	dst = append(dst, "\r\n\r\n"...)
	dst = append(dst, text...)
	return append(dst, '\n')
}

// answerFor is the answer of HTTP to an error of dial; nil to ErrClosed.
func answerFor(err error) []byte {
	var d *profiles.Denial
	switch {
	case errors.As(err, &d):
		return appendDenied(nil, d.Decision, false)
	case errors.Is(err, ErrClosed):
		return nil
	default:
		return appendUnreachable(nil, false)
	}
}

// replyFor is the reply of SOCKS5 to an error of dial.
func replyFor(err error) socks.Reply {
	var d *profiles.Denial
	var not net.Error
	switch {
	case errors.As(err, &d) && d.Decision.Code == profiles.Code(egress.NoAddress):
		return socks.HostUnreachable
	case errors.As(err, &d):
		return socks.NotAllowed
	case errors.As(err, &not) && not.Timeout():
		return socks.HostUnreachable
	case err != nil:
		return socks.Refused
	default:
		return socks.Succeeded
	}
}
