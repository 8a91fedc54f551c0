package egress

import (
	"bytes"
	"slices"
)

// normalFieldName appends the name in the form that FieldOverride compares: only letters and digits, in lower case.
// Frameworks read X-HTTP-Method, x_http_method and xHttpMethod as one name.
func normalFieldName(dst []byte, name string) []byte {
	for i := range min(len(name), maxFieldName) {
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case (c < 'a' || c > 'z') && (c < '0' || c > '9'):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// FieldOverride returns what a field changes on servers that obey the field.
func FieldOverride(text string) Override {
	var buf [maxFieldName]byte
	name := normalFieldName(buf[:0], text)
	switch string(name) {
	case "accept", "acceptencoding", "acceptlanguage", "authorization", "connection", "contentlength", "contenttype",
		"cookie",
		"host", "traceparent", "useragent", "xrequestid": // the most frequent fields, checked first
		return overridesNothing
	case "secfetchuser": // set by browsers when the user clicked
		return overridesNothing
	}
	switch {
	case isMethodField(name):
		return OverridesMethod
	case isPathField(name):
		return OverridesPath
	case isCallerField(name):
		return OverridesCaller
	default:
		return overridesNothing
	}
}

// isMethodField reports whether a field or parameter overrides the method.
func isMethodField(name []byte) bool {
	switch {
	case has(name, "httpmethod"), has(name, "httpverb"):
		return true
	case has(name, "method"), has(name, "verb"):
		if has(name, "override") || has(name, "tunnel") {
			return true
		}
	default:
		return false
	}
	return oneOf(name, "xmethod", "xverb", "xforwardedmethod", "xoriginalmethod", "xrewritemethod", "xrequestmethod",
		"xproxymethod", "xrealmethod", "xeffectivemethod")
}

// isPathField reports whether a field names another path, resource or host.
func isPathField(name []byte) bool {
	switch {
	case has(name, "override"), has(name, "copysource"), has(name, "renamesource"), ends(name, "scriptname"):
		return true
	case starts(name, "xoriginal", "xrewrite", "xenvoy", "xmiddleware", "xinvoke"):
		return true
	case oneOf(name, "destination", "xcopyfrom", "xhost", "xhttphost", "xforwardedserver", "xforwardedport",
		"xforwardedproto", "xforwardedscheme", "xforwardedprefix"):
		return true
	}
	for _, what := range []string{"url", "uri", "path", "pathinfo", "host"} {
		if of, ok := bytes.CutSuffix(name, []byte(what)); ok {
			return ends(of, "original", "orig", "rewrite", "rewritten", "request", "requested", "forwarded", "forward",
				"proxy",
				"real", "matched", "unencoded", "effective", "upstream", "backend", "target", "internal")
		}
	}
	return false
}

// isCallerField reports whether a field names the client's identity or address.
func isCallerField(name []byte) bool {
	bare := bytes.TrimPrefix(name, []byte("x"))
	switch {
	case has(name, "impersonat"), has(name, "onbehalfof"), has(name, "jwtclaim"), has(name, "jwtassertion"):
		return true
	case starts(bare, "forwarded", "remote", "authenticated", "authrequest", "consumer", "anonymousconsumer",
		"credential",
		"googauthenticated", "googiap", "amznoidc", "msclientprincipal", "sslclient", "clientverify", "clientdn"):
		return true
	case oneOf(bare, "sudo", "clientcert", "clientcertchain", "actas", "runas", "role", "roles", "groups", "claims"):
		return true
	case ends(name, "clientip", "realip", "connectingip", "originatingip", "remoteip", "remoteaddr", "userip",
		"forwardedfor"):
		return true
	}
	return ends(name, "user", "username", "userid", "useremail", "usermail", "userlogin", "userinfo", "userdn",
		"userrole",
		"userroles", "usergroup", "usergroups", "userclaims", "userprincipal", "principal", "principalname",
		"principalid",
		"email", "emailaddress", "login", "identity", "caller", "callerid", "callerobjectid", "selectadmin")
}

// carriesFields reports whether the value of a parameter holds fields, such as $httpHeaders of Google.
func carriesFields(name []byte) bool { return has(name, "httpheader") || has(name, "requestheader") }

func has(name []byte, part string) bool { return bytes.Contains(name, []byte(part)) }

func oneOf(name []byte, list ...string) bool { return slices.Contains(list, string(name)) }

func starts(name []byte, with ...string) bool {
	for _, w := range with {
		if len(name) >= len(w) && string(name[:len(w)]) == w {
			return true
		}
	}
	return false
}

func ends(name []byte, with ...string) bool {
	for _, w := range with {
		if len(name) >= len(w) && string(name[len(name)-len(w):]) == w {
			return true
		}
	}
	return false
}
