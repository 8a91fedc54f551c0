package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/config"
	"github.com/ringd/ringd/profiles/egress"
)

func TestReadEgress(t *testing.T) {
	got, err := config.Read("c.yaml", strings.NewReader(`
credentials:
  models: {file: /etc/ringd/models.key}
  search: {credential: search-key, header: X-Api-Key, hosts: [search.example.com, "search.example.com:8443"]}
  git: {env: GIT_TOKEN, scheme: Basic}
gateways:
  gateway: {upstream: "https://llm.acme.example/v1", credential: models}
  local: {upstream: "http://127.0.0.1:11434", addresses: [10.1.0.0/16, "fd00::1"]}
egress: {resolver: ["10.0.0.2:53", "[fd00::53]:53"], roots: /etc/ringd/roots.pem}
`))
	if err != nil {
		t.Fatal(err)
	}
	basic := "Basic"
	want := config.File{
		Credentials: map[string]config.Credential{
			"models": {Secret: config.Secret{File: "/etc/ringd/models.key"}},
			"search": {Secret: config.Secret{Credential: "search-key"}, Header: "X-Api-Key", Hosts: []string{"search.example.com", "search.example.com:8443"}},
			"git":    {Secret: config.Secret{Env: "GIT_TOKEN"}, Scheme: &basic},
		},
		Gateways: map[string]config.Gateway{
			"gateway": {Upstream: "https://llm.acme.example/v1", Credential: "models"},
			"local":   {Upstream: "http://127.0.0.1:11434", Addresses: []string{"10.1.0.0/16", "fd00::1"}},
		},
		Egress: config.Egress{Resolver: []string{"10.0.0.2:53", "[fd00::53]:53"}, Roots: "/etc/ringd/roots.pem"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"10.1.0.0/16", "fd00::1", "127.0.0.1"}, got.Gateways["local"].Reach()); diff != "" {
		t.Error(diff)
	}
	if got := got.Gateways["gateway"].Reach(); len(got) != 0 {
		t.Errorf("a name reaches %q beside public addresses", got)
	}
	if diff := cmp.Diff([]string{"/etc/ringd/models.key"}, got.Private()); diff != "" {
		t.Errorf("what guests must not see: %s", diff)
	}
}

func TestReadRefusesEgress(t *testing.T) {
	credential := func(rest string) string { return "credentials: {a: {" + rest + "}}\n" }
	gateway := func(rest string) string { return "gateways: {a: {" + rest + "}}\n" }
	for _, tt := range []struct{ name, text, want string }{
		{"no source", credential("header: X"), "credentials.a: want exactly one of file"},
		{"two sources", credential("file: /a, env: B"), "credentials.a: want exactly one of file"},
		{"the secret itself", credential("value: hunter2"), `unknown field "value"`},
		{"relative file", credential("file: a"), "not an absolute path"},
		{"name", "credentials: {sk-ABCDEF: {env: A}}\n", "is no secret itself"},
		{"header with a colon", credential("env: A, header: 'X: y'"), "is not a header name"},
		{"header that frames", credential("env: A, header: Transfer-Encoding"), "cannot be used for a credential"},
		{"header that routes", credential("env: A, header: host"), "cannot be used for a credential"},
		{"header of a proxy", credential("env: A, header: Proxy-Authorization"), "cannot be used for a credential"},
		{"scheme with a line break", credential(`env: A, scheme: "B\r\nX: y"`), "scheme: want a word"},
		{"hosts with a scheme", credential("env: A, hosts: ['https://a.example']"), "credentials.a: hosts"},
		{"hosts with a wildcard", credential("env: A, hosts: ['*.a.example']"), "credentials.a: hosts"},
		{"hosts that are none", credential("env: A, hosts: []"), "credentials.a: hosts"},
		{"hosts with a path", credential("env: A, hosts: [a.example/v1]"), "credentials.a: hosts"},
		{"gateway of two labels", "gateways: {a.b: {upstream: 'https://a.example'}}\n", "is not one label"},
		{"gateway without an upstream", gateway("credential: a"), "gateways.a: upstream"},
		{"plain http", gateway("upstream: 'http://a.example'"), "http:// is for a loopback or private address"},
		{"password", gateway("upstream: 'https://u:hunter2@a.example'"), "does not belong in it"},
		{"query", gateway("upstream: 'https://a.example/?key=hunter2'"), "neither a query"},
		{"address", gateway("upstream: 'https://a.example', addresses: [b.example]"), "want an address or a range"},
		{"whole internet", gateway("upstream: 'https://a.example', addresses: [0.0.0.0/0]"), "want a range such as"},
		{"range with host bits", gateway("upstream: 'https://a.example', addresses: [10.1.2.3/8]"), "without bits outside its mask"},
		{"no such credential", gateway("upstream: 'https://a.example', credential: none"), "credentials has no entry"},
		{"credential for another host", "credentials: {k: {env: A, hosts: [b.example]}}\n" + gateway("upstream: 'https://a.example', credential: k"), "k is not for a.example:443"},
		{"resolver without a port", "egress: {resolver: [10.0.0.2]}\n", "egress.resolver"},
		{"resolver by name", "egress: {resolver: ['dns.example:53']}\n", "egress.resolver"},
		{"relative roots", "egress: {roots: roots.pem}\n", "egress.roots"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Read("c.yaml", strings.NewReader(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && tt.name != "the secret itself" && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

func TestCredentialField(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) config.Secret {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Secret{File: path}
	}
	word := func(s string) *string { return &s }
	for _, tt := range []struct {
		name       string
		credential config.Credential
		want       string
		fails      string
	}{
		{"bearer", config.Credential{Secret: file("a", "hunter2\n")}, "Authorization: Bearer hunter2", ""},
		{"another header", config.Credential{Secret: file("b", "hunter2"), Header: "X-Api-Key"}, "X-Api-Key: hunter2", ""},
		{"another scheme", config.Credential{Secret: file("c", "hunter2"), Scheme: word("token")}, "Authorization: token hunter2", ""},
		{"no scheme", config.Credential{Secret: file("d", "hunter2"), Scheme: word("")}, "Authorization: hunter2", ""},
		{"lower case", config.Credential{Secret: file("e", "hunter2"), Header: "authorization"}, "authorization: Bearer hunter2", ""},
		{"basic", config.Credential{Secret: file("f", "ann:hunter2"), Scheme: word("Basic")}, "Authorization: Basic YW5uOmh1bnRlcjI=", ""},
		{"basic, encoded", config.Credential{Secret: file("g", "YW5uOmh1bnRlcjI="), Scheme: word("Basic")}, "Authorization: Basic YW5uOmh1bnRlcjI=", ""},
		{"its host", config.Credential{Secret: file("h", "hunter2"), Hosts: []string{"a.example"}}, "Authorization: Bearer hunter2", ""},
		{"its host and port", config.Credential{Secret: file("i", "hunter2"), Hosts: []string{"a.example:443"}}, "Authorization: Bearer hunter2", ""},
		{"another host", config.Credential{Secret: file("j", "hunter2"), Hosts: []string{"b.example"}}, "", "not for a.example:443"},
		{"another port", config.Credential{Secret: file("k", "hunter2"), Hosts: []string{"a.example:8443"}}, "", "not for a.example:443"},
		{"a field in the secret", config.Credential{Secret: file("l", "hunter2\r\nX-Admin: 1")}, "", "line breaks"},
		{"a letter beyond ASCII", config.Credential{Secret: file("m", "hünter2")}, "", "beyond ASCII"},
		{"not there", config.Credential{Secret: config.Secret{File: filepath.Join(dir, "none")}}, "", "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header, value, err := tt.credential.Field(config.Environment{}, egress.Dest{Name: "a.example", Port: 443})
			got := header + ": " + value
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || got != ": " {
					t.Errorf("got %q, %v", got, err)
				}
				if err != nil && strings.Contains(err.Error(), "hunter2") {
					t.Error("the error holds the secret")
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("hunter2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (config.Credential{Secret: config.Secret{File: open}}).Field(
		config.Environment{}, egress.Dest{}); err == nil {
		t.Error("a file that others read was taken")
	}
}

func TestParseCredential(t *testing.T) {
	word := func(s string) *string { return &s }
	for text, want := range map[string]config.Credential{
		"k=file:/a/b.key":                           {Secret: config.Secret{File: "/a/b.key"}},
		"k=file:b.key":                              {Secret: config.Secret{File: "/work/b.key"}},
		"k=file:../b,c=d.key":                       {Secret: config.Secret{File: "/b,c=d.key"}},
		"k=env:MODELS_KEY":                          {Secret: config.Secret{Env: "MODELS_KEY"}},
		"k=env:A,header=X-Api-Key":                  {Secret: config.Secret{Env: "A"}, Header: "X-Api-Key"},
		"k=env:A,scheme=token":                      {Secret: config.Secret{Env: "A"}, Scheme: word("token")},
		"k=file:/a,b,header=X-Key,scheme=":          {Secret: config.Secret{File: "/a,b"}, Header: "X-Key", Scheme: word("")},
		"k=file:/a,scheme=Basic,header=X-Authorize": {Secret: config.Secret{File: "/a"}, Header: "X-Authorize", Scheme: word("Basic")},
	} {
		name, got, err := config.ParseCredential(text, "/work")
		if err != nil || name != "k" {
			t.Errorf("%s: %q, %v", text, name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{"", "k", "k=", "=env:A", "K=env:A", "k=hunter2", "k=env:", "k=env:A-B",
		"k=env:hunter2=", "k=file:", "k=value:hunter2",
		"k=env:A,header=", "k=env:A,header=Host", "k=env:A,header=X,header=Y", "k=env:A,hunter2=x", "k=credential:x"} {
		if name, c, err := config.ParseCredential(text, "/work"); err == nil ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %s %+v, %v", text, name, c, err)
		}
	}
}

func TestParseGateway(t *testing.T) {
	name, got, err := config.ParseGateway("gateway=http://127.0.0.1:8080/v1")
	if err != nil || name != "gateway" {
		t.Fatalf("%q, %v", name, err)
	}
	if diff := cmp.Diff(config.Gateway{Upstream: "http://127.0.0.1:8080/v1"}, got); diff != "" {
		t.Error(diff)
	}
	_, got, err = config.ParseGateway("gateway=https://a.example/v1,credential=models")
	if diff := cmp.Diff(config.Gateway{Upstream: "https://a.example/v1", Credential: "models"}, got); diff != "" ||
		err != nil {
		t.Error(diff, err)
	}
	for _, text := range []string{"", "gateway", "gateway=", "gateway=https://a.example,credential=",
		"gateway=https://a.example,credential=sk-HUNTER", "=https://a.example", "a.b=https://a.example", "Gateway=https://a.example", "gateway=http://a.example",
		"gateway=https://u:hunter2@a.example", "gateway=https://a.example?key=hunter2", "gateway=a.example"} {
		if name, g, err := config.ParseGateway(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %s %+v, %v", text, name, g, err)
		}
	}
}
