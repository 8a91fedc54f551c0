package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
)

const listening = "listen: [{tcp: '127.0.0.1:7443', tls: {cert: /c, key: /k}}]\n"

func TestReadListeners(t *testing.T) {
	got, err := config.Read("c.yaml", strings.NewReader(`
listen:
  - tcp: 127.0.0.1:7443
    tls: {cert: /etc/ringd/cert.pem, key: /etc/ringd/key.pem}
    clientCA: /etc/ringd/clients.pem
tokens:
  - {name: ci, file: /etc/ringd/ci.token, roles: [harness, viewer], expires: "2027-01-31T00:00:00Z"}
  - {name: ann, credential: ann-token, roles: [approver], owners: ["user:ann@acme.example"]}
approvers: {"group:leads@acme.example": ["uid:1001", "token:ann"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.File{
		Listen: []config.Listener{
			{TCP: "127.0.0.1:7443", TLS: config.TLS{Cert: "/etc/ringd/cert.pem", Key: "/etc/ringd/key.pem"}, ClientCA: "/etc/ringd/clients.pem"}},
		Tokens: []config.Token{
			{Name: "ci", File: "/etc/ringd/ci.token", Roles: []string{"harness", "viewer"}, Expires: "2027-01-31T00:00:00Z"},
			{Name: "ann", Credential: "ann-token", Roles: []string{"approver"}, Owners: []string{"user:ann@acme.example"}},
		},
		Approvers: map[string][]string{"group:leads@acme.example": {"uid:1001", "token:ann"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if at, err := got.Tokens[0].Until(); err != nil || !at.Equal(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%v, %v", at, err)
	}
}

func TestReadRefusesListeners(t *testing.T) {
	token := func(rest string) string { return listening + "tokens: [{name: a, env: A, " + rest + "}]\n" }
	good := token("roles: [harness]")
	if _, err := config.Read("c.yaml", strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"no tokens", listening, "no caller could authenticate"},
		{"no listener", "tokens: [{name: a, env: A, roles: [viewer]}]\n", "listen is empty"},
		{"no TLS", strings.Replace(good, ", tls: {cert: /c, key: /k}", "", 1), "TCP is served over TLS only"},
		{"no key", strings.Replace(good, ", key: /k", "", 1), "cert and key are required"},
		{"plaintext by name", strings.Replace(good, "tls: {cert: /c, key: /k}", "plaintext: true", 1), "unknown field"},
		{"no host", strings.Replace(good, "127.0.0.1:", ":", 1), "is not IP:PORT"},
		{"name of a host", strings.Replace(good, "127.0.0.1:", "localhost:", 1), "is not IP:PORT"},
		{"relative", strings.Replace(good, "/k", "k", 1), `tls.key: "k" is not an absolute path`},
		{"two sources", token("file: /a, roles: [viewer]"), "want exactly one of file, credential and env"},
		{"no role", token("roles: []"), "needs at least one role"},
		{"unknown role", token("roles: [root]"), "want harness, approver"},
		{"harness and approver", token("roles: [harness, approver]"), "a harness can never approve"},
		{"owners of a harness", token("roles: [harness], owners: ['user:a@a.example']"), "is not an approver"},
		{"no owner", token("roles: [approver], owners: [ann]"), `"ann" is not an owner`},
		{"no time", token("roles: [viewer], expires: tomorrow"), "is not a time such as"},
		{"name", strings.Replace(good, "name: a", "name: 'A b'", 1), "want lower-case letters"},
		{"twice", good[:len(good)-2] + ", {name: a, env: B, roles: [viewer]}]\n", "is listed twice"},
		{"a harness stands for an owner", good + "approvers: {'user:a@a.example': ['token:a']}\n", "not the token of an approver"},
		{"nobody stands for an owner", good + "approvers: {'user:a@a.example': ['token:b']}\n", "not the token of an approver"},
		{"a token among uids", good + "roles: {operator: ['token:a']}\n", "want uid:NUMBER"},
		{"the secret itself", token("secret: abc, roles: [viewer]"), "unknown field"},
	} {
		if _, err := config.Read("c.yaml", strings.NewReader(tt.text)); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
