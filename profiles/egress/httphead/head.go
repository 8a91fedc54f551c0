// Package httphead parses the heads of HTTP/1.0 and 1.1 requests and responses, and
// chunked bodies. It is so strict that no two readers can differ on the heads it accepts:
// where a head ends, which host it is for, how long its body is. It owns that syntax and
// no policy: profiles/egress decides, and rings/kernel/proxy forwards a head that is
// rebuilt from the parsed parts (AppendForward).
//
// It rejects, among others: a bare CR or LF, NUL and other control characters, folded
// lines, white space before a colon, names that are not tokens; a Content-Length that is
// repeated, a list or anything but digits; a Transfer-Encoding other than a single
// chunked; both of them together; several Hosts, or none in 1.1; versions other than 1.0
// and 1.1; targets with user information, a fragment or a scheme other than http; TRACE;
// a head of more than MaxHead bytes or MaxFields fields. It never repairs input.
package httphead

// Limits of a head.
const (
	MaxHead   = 64 << 10
	maxFields = 100
	maxNamed  = 32 // options of Connection
)

// Error is the reason why bytes are rejected: one of the constants below. Only ErrMore is not a rejection.
type Error string

// Error returns the reason.
func (e Error) Error() string { return string(e) }

// Refusals.
const (
	ErrMore       Error = "the head is not complete"
	ErrLarge      Error = "the head is larger than 64 KiB, or has more than 100 fields"
	ErrLine       Error = "the first line is not one of HTTP/1"
	ErrVersion    Error = "the version is neither HTTP/1.0 nor HTTP/1.1"
	ErrMethod     Error = "the method is not passed on"
	ErrTarget     Error = "the target of the request is not in a strict form"
	ErrScheme     Error = "the target has a scheme other than http"
	ErrUser       Error = "the target has user information"
	ErrBreak      Error = "a line does not end with CR and LF"
	ErrFold       Error = "a field is folded over lines"
	ErrName       Error = "the name of a field is not a token right before a colon"
	ErrValue      Error = "a field has a control character"
	ErrHost       Error = "not exactly one Host with a host in it"
	ErrLength     Error = "the Content-Length is not one plain number"
	ErrCoding     Error = "the Transfer-Encoding is not chunked alone, or not in HTTP/1.1"
	ErrBoth       Error = "both Content-Length and Transfer-Encoding"
	ErrNoBody     Error = "a body where none can be"
	ErrConnection Error = "the Connection field is not a list of a few names"
	ErrExpect     Error = "an expectation other than 100-continue"
	ErrStatus     Error = "the status is not one of HTTP/1"
	ErrUpgrade    Error = "the connection is switched to what was not asked for"
	ErrChunk      Error = "the body is not chunked in a strict form"
)

// Body is the way to find the end of a body.
type Body uint8

// The kinds of bodies.
const (
	None       Body = iota
	Sized           // Length bytes
	Chunked         // see Chunks
	UntilClose      // responses only
)

// Kind classifies the fields with a meaning for this package.
type Kind uint8

// The kinds of fields.
const (
	Other Kind = iota
	Host
	ContentLength
	TransferEncoding
	Connection
	Upgrade
	Expect
	proxyAuthorization
	hop // any other hop-by-hop field
)

// Field is a field of a head. Name and Value are slices of the buffer that was parsed, not copies. Value
// has no surrounding white space.
type Field struct {
	Name, Value []byte
	Kind        Kind
	Hop         bool // hop-by-hop: not forwarded
}

// kindOf classifies a name, which is a token.
func kindOf(name []byte) (Kind, error) {
	switch len(name) {
	case 2:
		return pick(name, "te", hop)
	case 4:
		return pick(name, "host", Host)
	case 6:
		return pick(name, "expect", Expect)
	case 7:
		if equalsWord(name, "trailer") {
			return hop, nil
		}
		return pick(name, "upgrade", Upgrade)
	case 10:
		if equalsWord(name, "keep-alive") {
			return hop, nil
		}
		return pick(name, "connection", Connection)
	case 14:
		if equalsWord(name, "http2-settings") {
			return hop, nil
		}
		return framing(name, "content-length", ContentLength)
	case 16:
		return pick(name, "proxy-connection", Connection)
	case 17:
		return framing(name, "transfer-encoding", TransferEncoding)
	case 18:
		return pick(name, "proxy-authenticate", hop)
	case 19:
		return pick(name, "proxy-authorization", proxyAuthorization)
	case 25:
		return pick(name, "proxy-authentication-info", hop)
	}
	return Other, nil
}

func pick(name []byte, word string, kind Kind) (Kind, error) {
	if equalsWord(name, word) {
		return kind, nil
	}
	return Other, nil
}

// framing rejects a spelling of word with _ for -, which CGI-like gateways take for the word.
func framing(name []byte, word string, kind Kind) (Kind, error) {
	if equalsWord(name, word) {
		return kind, nil
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] && (c != '_' || word[i] != '-') {
			return Other, nil
		}
	}
	return Other, ErrName
}
