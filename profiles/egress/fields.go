package egress

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
)

// Override is what a field of a request, in addition to the first line, can change in the meaning of the
// request.
type Override string

// The values of Override. A server that obeys such a field performs another request than the one that was
// decided.
const (
	overridesNothing Override = ""
	OverridesMethod  Override = "method"
	OverridesPath    Override = "path"   // or another resource, or another host
	OverridesCaller  Override = "caller" // the client's identity or address
	OverridesFields  Override = "fields" // the parameter carries fields of any meaning
)

// maxFieldName is the longest name that is compared. No known name is longer.
const maxFieldName = 96

// FieldName returns the name of a field as the most lenient server reads it: in lower case, with - for every
// character that is neither a letter nor a digit.
func FieldName(name string) string {
	var buf [maxFieldName]byte
	return string(appendFieldName(buf[:0], name))
}

// appendFieldName does the work of FieldName. It does not keep name, so that a name without a meaning is never
// copied.
func appendFieldName(dst []byte, name string) []byte {
	for i := range min(len(name), maxFieldName) {
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case (c < 'a' || c > 'z') && (c < '0' || c > '9'):
			c = '-'
		}
		dst = append(dst, c)
	}
	return dst
}

// clientCredential reports whether clients use a field to identify themselves. The list cannot be complete.
// That is why a gateway forwards only the fields for which FieldPasses is true.
func clientCredential(name string) bool {
	switch name = FieldName(name); name {
	case "authorization", "cookie", "cookie2", "api-key", "apikey", "x-api-key", "x-api-token", "x-auth-key",
		"x-auth-token", "x-access-token",
		"x-goog-api-key", "x-amz-security-token", "x-csrf-token", "private-token", "job-token", "x-vault-token",
		"x-functions-key", "ocp-apim-subscription-key":
		return true
	}
	return strings.HasPrefix(name, "proxy-")
}

// fieldFrames reports whether a field is for one connection, or frames a message. The host writes such fields
// itself.
func fieldFrames(name string) bool {
	switch FieldName(name) {
	case "connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect",
		"host", "content-length", "via", "http2-settings":
		return true
	}
	return false
}

// FieldPasses reports whether every gateway forwards a field. Such fields describe the content or the
// accepted content, a condition or a range, or identify a request.
func FieldPasses(name string) bool {
	if name = strings.ToLower(name); name != FieldName(name) || fieldFrames(name) {
		return false
	}
	switch name {
	case "accept", "user-agent", "range", "digest", "repr-digest", "cache-control", "pragma", "date", "prefer",
		"priority", "idempotency-key", "last-event-id",
		"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
		"traceparent", "tracestate", "baggage", "request-id", "x-request-id", "x-correlation-id",
		"sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions":
		return true
	}
	return (strings.HasPrefix(name, "accept-") || strings.HasPrefix(name, "content-")) &&
		FieldOverride(name) == overridesNothing
}

// FieldOfGateway returns the reason why a policy cannot let a gateway forward a field of the client, or "" if
// it can. bounded is true if the gateway lists methods or paths.
func FieldOfGateway(name string, bounded bool) string {
	override := FieldOverride(name)
	switch {
	case fieldFrames(name):
		return "it frames a message, which the host does"
	case clientCredential(name):
		return "it is a credential, which the host adds"
	case bounded && (override == OverridesMethod || override == OverridesPath):
		return "a server may read another " + string(override) + " from it than the one that is granted"
	default:
		return ""
	}
}

// Overrides lists the names of a request that may change its meaning, in addition to its first line: names of
// fields, and names of query parameters with a leading question mark. The entries that cover the request
// decide which of them matter. The zero Overrides is empty.
type Overrides string

// Field returns s with a field added.
func (s Overrides) Field(name string) Overrides {
	if FieldOverride(name) == overridesNothing {
		return s
	}
	return s.with(FieldName(name))
}

// Query returns s with the parameters of a query added. The leading question mark is optional.
func (s Overrides) Query(query string) Overrides {
	for query = strings.TrimPrefix(query, "?"); query != ""; {
		var one string
		if i := strings.IndexAny(query, "&;"); i >= 0 {
			one, query = query[:i], query[i+1:]
		} else {
			one, query = query, ""
		}
		name, _, _ := strings.Cut(one, "=")
		name = lenientParameterName(name)
		if parameterOverride(name) != overridesNothing {
			s = s.with("?" + parameterName(name))
		}
	}
	return s
}

// lenientParameterName returns the name of a parameter as the most lenient server reads it: an invalid escape stays as
// text, a NUL ends the name, and list brackets are removed.
func lenientParameterName(escaped string) string {
	name := make([]byte, 0, len(escaped))
	for i := 0; i < len(escaped); i++ {
		c := escaped[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(escaped):
			if b, err := hex.DecodeString(escaped[i+1 : i+3]); err == nil {
				c = b[0]
				i += 2
			}
		}
		if c == 0 {
			break
		}
		name = append(name, c)
	}
	first, _, _ := bytes.Cut(bytes.TrimLeft(name, " ["), []byte("["))
	first, _, _ = bytes.Cut(first, []byte("]"))
	return string(first)
}

func (s Overrides) with(name string) Overrides {
	if s == "" {
		return Overrides(name)
	}
	return s + " " + Overrides(name)
}

// methodParameter is the parameter from which Rails, Symfony, Laravel and others read the method. They also
// read it from the body of a form, which is not inspected.
const methodParameter = "_method"

// parameterName is FieldName for a query parameter. It returns methodParameter for every spelling of _method:
// PHP reads . as _, and other servers accept $ for _.
func parameterName(name string) string {
	name = strings.TrimSpace(strings.ToLower(name))
	if bare := strings.TrimLeft(name, "_.$"); bare == methodParameter[1:] && bare != name {
		return methodParameter
	}
	return strings.Trim(FieldName(name), "-")
}

// parameterOverride is FieldOverride for a query parameter. It knows methods, fields in the value, and
// parameters by which clients identify themselves.
func parameterOverride(name string) Override {
	name = parameterName(name)
	var buf [maxFieldName]byte
	plain := normalFieldName(buf[:0], name)
	switch {
	case name == methodParameter, isMethodField(plain):
		return OverridesMethod
	case carriesFields(plain):
		return OverridesFields
	case parameterCredential(plain):
		return OverridesCaller
	default:
		return overridesNothing
	}
}

func parameterCredential(plain []byte) bool {
	return oneOf(plain, "accesstoken", "authtoken", "oauthtoken", "bearertoken", "privatetoken", "jobtoken", "apikey",
		"apitoken",
		"xapikey", "subscriptionkey", "authorization", "xamzcredential", "xamzsignature", "xamzsecuritytoken",
		"xgoogcredential",
		"xgoogsignature", "xgoogapikey")
}

// refuse denies a request because of a name in s. It does so for a virtual host, and for an entry that lists
// methods or paths (bounded). listed are the fields that the policy allows.
func (s Overrides) refuse(bounded, virtual bool, listed []string) *Refusal {
	for name := range strings.FieldsSeq(string(s)) {
		if parameter, ok := strings.CutPrefix(name, "?"); ok {
			if r := refuseParameter(parameter, bounded, virtual); r != nil {
				return r
			}
			continue
		}
		override := FieldOverride(name)
		if !bounded || virtual && override == OverridesCaller && slices.Contains(listed, name) {
			continue
		}
		return refusal(Field, "a server may read another %s from the field %s, and the entry lists methods or paths",
			string(override), quoted(name))
	}
	return nil
}

// refuseParameter is refuse for one parameter.
func refuseParameter(name string, bounded, virtual bool) *Refusal {
	switch override := parameterOverride(name); {
	case override == OverridesMethod && bounded:
		return refusal(Field, "a server may read another method from the parameter %s of the query, and the "+
			"entry lists methods or paths", quoted(name))
	case override == OverridesFields && bounded:
		return refusal(Field, "the parameter %s of the query contains fields, and the entry lists methods or paths",
			quoted(name))
	case override == OverridesFields && virtual:
		return refusal(Field, "the parameter %s of the query contains fields, which could be a credential; the "+
			"gateway sends only the credential of the host", quoted(name))
	case override == OverridesCaller && virtual:
		return refusal(Field, "the parameter %s of the query is a credential, and the gateway sends only the "+
			"credential of the host", quoted(name))
	default:
		return nil
	}
}
