package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ringd/ringd/cmd/ringd/internal/api"
	"github.com/ringd/ringd/cmd/ringd/internal/daemon/daemontest"
	"github.com/ringd/ringd/schema/wire"
)

// fixture is a served daemon. Every answer it gets is held against the OpenAPI
// document.
type fixture struct {
	*daemontest.Stack
	t      *testing.T
	socket string
	server *api.Server
	http   *http.Client
	doc    *document
}

type options struct {
	roles  api.Roles
	runs   api.Daemon // nil: the daemon
	config func(*api.Config)
	stack  daemontest.Config
	ports  []*api.Port
	lock   bool // there are lockdowns
	// listener stands between the socket and the server; nil: nothing does.
	listener func(net.Listener) net.Listener
}

// everyRole lets this process do all but approve.
func mine(roles ...string) api.Roles {
	me := []string{"uid:" + strconv.Itoa(os.Getuid())}
	var out api.Roles
	for _, r := range roles {
		switch r {
		case "harness":
			out.Harness = me
		case "approver":
			out.Approver = me
		case "operator":
			out.Operator = me
		case "viewer":
			out.Viewer = me
		}
	}
	return out
}

func serve(t *testing.T, o options) *fixture {
	t.Helper()
	f := &fixture{Stack: daemontest.New(t, o.stack), t: t, doc: readDocument(t)}
	dir := t.TempDir()
	f.socket = filepath.Join(dir, "s", "ringd.sock")
	cfg := api.Config{Daemon: f.Daemon, Roles: o.roles,
		UID: uint32(os.Getuid()), Meter: f.Metrics,
		Now: time.Now, Logger: slog.New(slog.NewTextHandler(f.Logged, nil))}
	if o.runs != nil {
		cfg.Daemon = o.runs
	}
	if o.lock {
		cfg.Lockdown = f.Lock
	}
	if o.config != nil {
		o.config(&cfg)
	}
	var err error
	if f.server, err = api.New(cfg); err != nil {
		t.Fatal(err)
	}
	l, err := api.Listen(f.socket, "")
	if err != nil {
		t.Fatal(err)
	}
	if o.listener != nil {
		l = o.listener(l)
	}
	f.server.Start(context.WithoutCancel(t.Context()), l, o.ports...)
	f.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (
		net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", f.socket)
	}}}
	t.Cleanup(func() {
		f.http.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := f.server.Close(ctx); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	return f
}

type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) code() string {
	var e wire.ErrorBody
	if json.Unmarshal(r.body, &e) != nil {
		return ""
	}
	return e.Error.Code
}

// ask sends one request and checks the answer against the document.
func (f *fixture) ask(method, path, body string, header ...string) reply {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, "http://ringd"+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := f.http.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	r := reply{resp.StatusCode, resp.Header, b}
	f.doc.check(f.t, req, r)
	return r
}

// into decodes an answer that must be a success.
func into[T any](t *testing.T, r reply) T {
	t.Helper()
	var v T
	if r.status/100 != 2 {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// document is docs/openapi.json, ready to check answers.
type document struct {
	compiler *jsonschema.Compiler
	paths    map[string]any
	mux      *http.ServeMux
}

func readDocument(t *testing.T) *document {
	t.Helper()
	raw, err := os.ReadFile("../../../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{compiler: jsonschema.NewCompiler(), paths: v.(map[string]any)["paths"].(map[string]any),
		mux: http.NewServeMux()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource("mem:///openapi.json", v); err != nil {
		t.Fatal(err)
	}
	for path, item := range d.paths {
		for method := range item.(map[string]any) {
			d.mux.Handle(strings.ToUpper(method)+" "+path, http.NotFoundHandler())
		}
	}
	return d
}

// check holds an answer against the document: its status is named, and its body
// fits the schema.
func (d *document) check(t *testing.T, req *http.Request, r reply) {
	t.Helper()
	_, pattern := d.mux.Handler(req)
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		if r.status < 400 {
			t.Errorf("%s %s gives %d and is not in the document", req.Method, req.URL.Path, r.status)
		}
		path, method = "/v1/status", "GET" // any error has the same form
	}
	at := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + strings.ToLower(method) +
		"/responses"
	responses := d.paths[path].(map[string]any)[strings.ToLower(method)].(map[string]any)["responses"].(map[string]any)
	status := strconv.Itoa(r.status)
	if _, ok := responses[status]; !ok {
		if r.status < 400 {
			t.Errorf("%s: status %s is not in the document", pattern, status)
			return
		}
		status = "default"
	}
	content, ok := responses[status].(map[string]any)["content"].(map[string]any)
	if !ok {
		if len(r.body) > 0 {
			t.Errorf("%s %s: a body that the document does not know: %s", pattern, status, r.body)
		}
		return
	}
	kind, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if _, known := content[kind]; err != nil || !known {
		t.Errorf("%s %s: media type %q is not in the document", pattern, status, r.header.Get("Content-Type"))
		return
	}
	if kind != "application/json" || req.Method == http.MethodHead {
		return
	}
	schema, err := d.compiler.Compile("mem:///openapi.json#" +
		escape(at+"/"+status+"/content/application~1json/schema"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.body))
	if err != nil {
		t.Errorf("%s %s: not JSON: %s", pattern, status, r.body)
		return
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s %s does not fit the document: %v\n%s", pattern, status, err, r.body)
	}
}

func escape(pointer string) string {
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(pointer)
}
