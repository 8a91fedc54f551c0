package proxy

import (
	"encoding/json"
	"errors"
	"net"
	"strconv"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	"github.com/ringd/ringd/profiles/egress/socks"
)

// another tells a program that tries to get around the policy to stop.
const another = "The policy in force refuses this; another way will be refused too."

// deniedBody is the body of a denial. It never contains a resolved address.
type deniedBody struct {
	Code    string   `json:"code"`
	Reason  string   `json:"reason"`
	Rule    string   `json:"rule,omitempty"`
	Instead []string `json:"instead,omitempty"`
	Note    string   `json:"note,omitempty"`
}

// answerDenied appends a complete HTTP response for a denial. The connection stays open if keep is true.
func answerDenied(dst []byte, d profiles.Decision, keep bool) []byte {
	body := deniedBody{Code: string(d.Code), Reason: d.Reason, Instead: d.Instead, Note: another}
	if d.Rule != nil {
		body.Rule = d.Rule.Path
	}
	status := "403 Forbidden"
	if d.Code == profiles.Code(egress.NoAddress) {
		// Most clients show only the status text, and no more of the response.
		status, body.Note = "502 The Name Has No Address", ""
	}
	return whole(dst, status, "X-Ringd-Deny: "+string(d.Code), body, keep)
}

func whole(dst []byte, status, header string, body deniedBody, keep bool) []byte {
	text, err := json.Marshal(body)
	if err != nil { // it marshals only strings, so there is no error
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

// answerFor returns the last HTTP response for a failed connection. err is a *profiles.Denial, or a fault,
// whose text is not shown.
func answerFor(err error) []byte {
	var d *profiles.Denial
	if errors.As(err, &d) {
		return answerDenied(nil, d.Decision, false)
	}
	return whole(nil, "502 Bad Gateway", "X-Ringd-Error: unreachable",
		deniedBody{Code: "unreachable", Reason: "the host could not be reached"}, false)
}

// socksReply returns the SOCKS5 reply for a connection that succeeded (nil) or failed.
func socksReply(err error) socks.Reply {
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
