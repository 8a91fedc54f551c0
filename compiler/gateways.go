package compiler

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/profiles/egress"
	has "github.com/ringd/ringd/profiles/powers"
	"github.com/ringd/ringd/schema"
)

var (
	oneLabel       = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	credentialName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
)

// gateways compiles the virtual hosts.
func (d network) gateways(list []schema.Gateway) []profiles.Gateway {
	var out []profiles.Gateway
	first := map[string]int{}
	for i, g := range list {
		at := fmt.Sprintf("spec.network.gateways[%d]", i)
		if !oneLabel.MatchString(g.Name) {
			d.report(at+".name", codeGateway, "", "%q is not one label of a name", clip(g.Name))
		}
		if j, twice := first[g.Name]; twice {
			d.report(at+".name", codeGateway, "", "the gateway %q is already defined at %s", clip(g.Name),
				d.origin(fmt.Sprintf("spec.network.gateways[%d]", j)).Pos)
			continue
		}
		first[g.Name] = i
		out = append(out, d.gateway(at, g))
	}
	return out
}

func (d network) gateway(at string, g schema.Gateway) profiles.Gateway {
	out := profiles.Gateway{Name: g.Name, Upstream: g.Upstream, Methods: g.Methods, Paths: g.Paths, Headers: g.Headers,
		Reason: g.Reason, Rule: d.rule(at),
		Limits: d.egressLimits(at+".limits", g.Limits), Expires: d.expiry(at+".expires", g.Expires)}
	d.requests(at, g.Methods, g.Paths)
	for i, h := range g.Headers {
		if why := egress.FieldOfGateway(h, len(g.Methods)+len(g.Paths) > 0); why != "" {
			d.report(fmt.Sprintf("%s.headers[%d]", at, i), codeGateway, "leave it out",
				"%s does not go through a gateway: %s", clip(h), why)
		}
	}
	out.Powers, out.Under = touchedPowers(g.Powers), sharedBudgets(g.Under)
	d.outward(at+".powers", g.Powers, has.OfGateway(out))
	out.Addresses = d.addresses(at+".addresses", g.Addresses)
	out.Credential = d.credential(at+".credential", g.Credential)
	if g.Upstream == "" {
		if len(g.Addresses) > 0 {
			d.report(at+".addresses", codeGateway,
				"name the upstream, or leave them to the configuration of the host as well",
				"addresses go with an upstream, and there is none")
		}
		return out
	}
	if what := findSecret(g.Upstream); what != "" {
		d.report(at+".upstream", codeSecret, hintSecret, "holds what looks like %s", what)
		return out
	}
	u, err := egress.ReadUpstream(g.Upstream)
	if err != nil {
		d.report(at+".upstream", codeGateway,
			"https://host[:port][/prefix]; http:// for 127.0.0.1, [::1] and private addresses", "%s", err)
		return out
	}
	out.Upstream = u.String()
	a := u.Dest.Addr
	if a.IsValid() {
		d.warnUnreachable(at+".upstream", a.String())
		if !slices.Contains(out.Addresses, a.String()) {
			out.Addresses = append(out.Addresses, a.String())
		}
	}
	if !u.TLS && out.Credential != "" && !a.IsLoopback() {
		d.warn(at+".upstream", codeGateway, "https:// is for other hosts",
			"the credential would cross the network unencrypted")
	}
	return out
}

const hintSecret = "put the secret into the configuration of the host (credentials) and its name here; revoke a " +
	"secret that was written into a file"

// credential checks the name of a credential. The finding does not quote it, since it may be the secret
// itself.
func (d network) credential(at, name string) string {
	if name == "" {
		return ""
	}
	if what := findSecretInName(name); what != "" {
		d.report(at, codeSecret, hintSecret, "looks like %s; want the name of a credential", what)
		return ""
	}
	if !credentialName.MatchString(name) {
		d.report(at, codeGateway, "", "is not the name of a credential, in lower-case letters, digits and dashes")
		return ""
	}
	return name
}

// addresses compiles the addresses of an upstream that may be dialed in addition to public ones.
func (d network) addresses(at string, list []string) (out []string) {
	for i, text := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		e, err := egress.ReadEntry(text)
		if err == nil {
			_, err = egress.ReadRanges([]string{e.Host})
		}
		if err != nil || e.AnyPort || len(e.Ports) > 0 {
			d.report(at, codeEgressEntry, "an address such as 10.1.2.3, or a range such as 10.1.0.0/16",
				"%q is not an address or a range without a port", clip(text))
			continue
		}
		d.warnBroad(at, e.Host)
		d.warnUnreachable(at, e.Host)
		out = append(out, e.Host)
	}
	return out
}

// secrets warns of texts in the policy that look like secrets. All who read the policy, its findings or the
// records would see them.
func (d *document) secrets() {
	visit := func(text, path string) {
		if what := findSecret(text); what != "" {
			d.warn(path, codeSecret, hintSecret, "holds what looks like %s", what)
		}
	}
	eachText(reflect.ValueOf(d.policy.Metadata), "metadata", visit)
	eachText(reflect.ValueOf(d.policy.Spec), "spec", visit)
}

// eachText calls visit for each text in a value of a policy, except upstreams and credentials, which are rejected
// where they are compiled.
func eachText(v reflect.Value, path string, visit func(text, path string)) {
	switch v.Kind() {
	case reflect.String:
		visit(v.String(), path)
	case reflect.Pointer:
		if !v.IsNil() {
			eachText(v.Elem(), path, visit)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			visit(string(v.Bytes()), path)
			return
		}
		for i := range v.Len() {
			eachText(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			eachText(v.MapIndex(key), path+"."+key.String(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Tag.Get("cue"); name != "upstream" && name != "credential" {
				eachText(v.Field(i), path+"."+name, visit)
			}
		}
	}
}
