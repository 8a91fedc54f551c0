package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon"
	"github.com/ringd/ringd/cmd/ringd/internal/safetext"
	"github.com/ringd/ringd/rings/kernel/listener"
	"github.com/ringd/ringd/schema/wire"
)

// Server answers the harness API. It is safe for concurrent use. Its owner
// calls Close after Start.
type Server struct {
	cfg      Config
	table    *roleTable
	gate     *tokenGate
	mux      *http.ServeMux
	http     *http.Server
	requests atomic.Uint64
	stop     context.CancelFunc
	ending   <-chan struct{} // closed by stop
	served   chan struct{}
	lost     chan struct{} // closed when a listener fails
	err      error         // error of serving; set before served is closed
}

// New checks cfg.
func New(cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	t, err := newTable(cfg.Roles, cfg.Approvers, cfg.Tokens, cfg.UID)
	if err != nil {
		return nil, err
	}
	for _, c := range cfg.Tokens {
		cfg.Wrong.Tokens = append(slices.Clip(cfg.Wrong.Tokens), c.IssuedToken)
	}
	gate, err := NewTokens(cfg.Wrong)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, table: t, gate: gate, mux: http.NewServeMux()}
	s.cfg.Tokens, s.cfg.Wrong = nil, TokensConfig{} // do not keep the secrets
	var one http.Protocols
	one.SetHTTP1(true)
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: min(10*time.Second, cfg.ReadTimeout), // also limits a TLS handshake
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		Protocols:         &one,
		// Otherwise OPTIONS * would be answered without a check of roles.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if known, ok := c.(*peerConn); ok {
				return context.WithValue(ctx, peerKey{}, known.peer)
			}
			if from, ok := ConnSource(c); ok {
				return context.WithValue(ctx, tcpConnKey{}, &tcpConn{from: from, keep: func() { proveConn(c) }})
			}
			return ctx // unknown caller: no route accepts it
		},
	}
	for _, route := range Routes() {
		s.mux.Handle(route.Method+" "+route.Path, s.handler(route))
	}
	s.mux.HandleFunc("/", s.unknown)
	return s, nil
}

type peerKey struct{}

// Start serves the socket l and the ports until Close, each on its own goroutine, and then closes them.
// Requests end with ctx at the latest. A failed accept does not end a listener.
func (s *Server) Start(ctx context.Context, l net.Listener, ports ...*Port) {
	ctx, s.stop = context.WithCancel(ctx)
	s.ending = ctx.Done()
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	s.served = make(chan struct{})
	s.lost = make(chan struct{})
	socket := &fairListener{
		Listener: l, room: NewRoom[uint32](s.cfg.PerPeer, 0), own: s.cfg.PID,
		known: func(p peer) bool { return len(s.table.roles(p)) > 0 }, nobody: NewRoom[bool](s.cfg.PerPeer, 0),
	}
	listeners := []net.Listener{listener.New(socket, "socket", s.cfg.Logger)}
	for _, p := range ports {
		listeners = append(listeners, listener.New(p, p.Addr().String(), s.cfg.Logger))
	}
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { ended <- s.http.Serve(l) }()
	}
	go func() {
		defer close(s.served)
		for range listeners {
			if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
				if s.err == nil {
					close(s.lost)
				}
				s.err = errors.Join(s.err, fmt.Errorf("serve the API: %w", err))
				s.cfg.Logger.Error("API ended", "error", err)
			}
		}
	}()
}

// Lost returns a channel that is closed when a listener fails: some callers are no longer answered, and Close
// returns why. It is nil before Start.
func (s *Server) Lost() <-chan struct{} { return s.lost }

// Close stops listening, ends waiting requests and event streams, and lets the others finish until ctx ends.
// It waits for the serving goroutines.
func (s *Server) Close(ctx context.Context) error {
	if s.served == nil {
		return nil
	}
	s.stop()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.served
	return errors.Join(err, s.err)
}

// call is one request in a handler.
type call struct {
	w     *answer
	r     *http.Request
	id    string
	peer  peer
	roles []Role
	actor daemon.Actor
	read  bool // the body was read to its end
}

// answer is the ResponseWriter of one request. It records the status, and makes the text safe for terminals,
// because people also read answers there.
type answer struct {
	http.ResponseWriter
	edge   *safetext.Edge // writes to ResponseWriter
	status int
}

func newAnswer(w http.ResponseWriter) *answer {
	return &answer{ResponseWriter: w, edge: safetext.NewEdge(w, false, false)}
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.Header().Get("Content-Encoding") != "" { // compressed metrics have only numbers and our names
		return a.ResponseWriter.Write(b)
	}
	return a.edge.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// ServeHTTP answers one request. A panic is an internal error of this request only.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := "q" + strconv.FormatUint(s.requests.Add(1), 10)
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	// The server reads the rest of a body after the answer, which needs a deadline too. A waiting request
	// removes the deadline after its body was read.
	if r.ContentLength != 0 {
		deadline := s.cfg.Now().Add(s.cfg.ReadTimeout)
		if err := http.NewResponseController(w).SetReadDeadline(deadline); err != nil &&
			!errors.Is(err, http.ErrNotSupported) {
			s.fail(&call{w: newAnswer(w), r: r, id: id}, "unknown", err)
			return
		}
	}
	if over, ok := r.Context().Value(tcpConnKey{}).(*tcpConn); ok {
		known, done, err := s.admit(w, r, over)
		defer done()
		if err != nil {
			s.refuseUnknown(&call{w: newAnswer(w), r: r, id: id}, err)
			return
		}
		r = known
	}
	if r.URL.Path != path.Clean("/"+r.URL.Path) { // the mux would redirect
		s.fail(&call{w: newAnswer(w), r: r, id: id}, "unknown", noPath(r))
		return
	}
	s.mux.ServeHTTP(w, r)
}

func noPath(r *http.Request) error {
	return &codedError{http.StatusNotFound, wire.CodePathUnknown, "no such path: " + clip(r.URL.Path)}
}

// handler wraps a route: roles, deadlines, errors, panics, metrics.
func (s *Server) handler(route Route) http.Handler {
	pattern := route.Method + " " + route.Path
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := s.cfg.Now()
		a := newAnswer(w)
		c := &call{w: a, r: r, id: w.Header().Get("X-Request-Id")}
		defer func() {
			if v := recover(); v != nil {
				s.cfg.Logger.Error("request panicked", "request", c.id, "route", pattern, "panic", v, "stack",
					string(debug.Stack()))
				s.fail(c, pattern, errPanic)
			}
			if s.cfg.Meter != nil {
				s.cfg.Meter.Requested(pattern, a.status, s.cfg.Now().Sub(began), route.Waits)
			}
		}()
		err := s.authorise(c, route)
		if err == nil {
			err = checkRequest(r, route)
		}
		if err == nil {
			err = route.handle(s, c)
		}
		if errors.Is(err, context.Canceled) && s.closing() {
			err = daemon.ErrDraining
		}
		if err != nil {
			s.fail(c, pattern, err)
		}
	})
}

// checkRequest refuses a body on a route without one, and query parameters that the route does not have or that are
// repeated.
func checkRequest(r *http.Request, route Route) error {
	if route.Request == nil && r.ContentLength != 0 {
		return invalid("%s %s accepts no body", route.Method, route.Path)
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("the query cannot be read")
	}
	for name, values := range query {
		i := slices.IndexFunc(route.Query, func(p param) bool { return p.In == "query" && p.Name == name })
		switch {
		case i < 0:
			return invalid("unknown parameter %q", clip(name))
		case len(values) > 1 && !route.Query[i].Many:
			return invalid("the parameter %q is given twice", name)
		}
	}
	return nil
}

// closing reports whether Close was called.
func (s *Server) closing() bool {
	select {
	case <-s.ending:
		return true
	default:
		return false
	}
}

var errPanic = errors.New("a handler panicked")

// authorise finds the caller's roles and refuses a route for other roles.
func (s *Server) authorise(c *call, route Route) error {
	p, _ := c.r.Context().Value(peerKey{}).(peer)
	c.peer, c.roles = p, s.table.roles(p)
	if named := c.r.Header.Values(roleHeader); len(named) > 0 {
		if len(named) > 1 || !slices.Contains(c.roles, Role(named[0])) {
			return &codedError{http.StatusForbidden, wire.CodeForbidden,
				"the caller does not hold the role that the request names"}
		}
		c.roles = []Role{Role(named[0])}
	}
	c.actor = actor(p, c.roles)
	if len(route.Roles) == 0 && p.known {
		return nil
	}
	for _, r := range route.Roles {
		if slices.Contains(c.roles, r) {
			return nil
		}
	}
	return forbidden(route, p, c.roles)
}

func join(roles []Role) string {
	out := "a known peer"
	for i, r := range roles {
		if i == 0 {
			out = string(r)
			continue
		}
		out += ", " + string(r)
	}
	return out
}

// unknown answers paths and methods without a route.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	c := &call{w: newAnswer(w), r: r, id: w.Header().Get("X-Request-Id")}
	var methods []string
	for _, route := range Routes() {
		probe := r.Clone(r.Context())
		probe.Method = route.Method
		if _, pattern := s.mux.Handler(probe); pattern == route.Method+" "+route.Path {
			methods = append(methods, route.Method)
		}
	}
	if len(methods) == 0 {
		s.fail(c, "unknown", noPath(r))
		return
	}
	w.Header().Set("Allow", allow(methods))
	s.fail(c, "unknown", &codedError{http.StatusMethodNotAllowed, wire.CodeMethodNotAllowed,
		clip(r.Method) + " is not allowed for this path; use " + allow(methods)})
}

func allow(methods []string) string {
	slices.Sort(methods)
	out := ""
	for i, m := range slices.Compact(methods) {
		if i > 0 {
			out += ", "
		}
		out += m
	}
	return out
}

// fail answers with the code of err. If the answer has begun, it closes the connection: a partial answer must
// not look complete.
func (s *Server) fail(c *call, route string, err error) {
	status, e := errorFor(err)
	e.RequestID = c.id
	if late := new(daemon.TooFastError); errors.As(err, &late) {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(late.After/time.Second)))
	}
	if status == http.StatusInternalServerError {
		s.cfg.Logger.Error("request failed", "request", c.id, "route", route, "actor", c.actor.Name, "error", err)
	}
	if c.w.status != 0 {
		if errors.Is(err, errPanic) {
			c.w.status = status
		}
		if conn, _, err := http.NewResponseController(c.w).Hijack(); err == nil {
			if err := conn.Close(); err != nil {
				s.cfg.Logger.Debug("cut a connection", "request", c.id, "error", err)
			}
		}
		return
	}
	if c.r.ContentLength != 0 && !c.read {
		c.w.Header().Set("Connection", "close") // do not wait for the rest of the body
	}
	if err := s.reply(c, status, wire.ErrorBody{Error: e}); err != nil {
		s.cfg.Logger.Debug("answer not sent", "request", c.id, "error", err)
	}
}

// reply writes one JSON answer, with a deadline.
func (s *Server) reply(c *call, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	return s.write(c, status, "application/json", append(b, '\n'))
}

func (s *Server) write(c *call, status int, kind string, b []byte) error {
	if err := s.deadline(c); err != nil {
		return err
	}
	b = safetext.Text(b) // as the edge will write it, for Content-Length
	h := c.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	c.w.WriteHeader(status)
	if _, err := c.w.Write(b); err != nil {
		s.cfg.Logger.Debug("answer not sent", "request", c.id, "error", err)
	}
	return nil
}

// deadline limits the time of the next write to a slow reader.
func (s *Server) deadline(c *call) error {
	err := http.NewResponseController(c.w).SetWriteDeadline(s.cfg.Now().Add(s.cfg.ReadTimeout))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// clearReadDeadline removes the read deadline: the body was read, and the request waits.
func (s *Server) clearReadDeadline(c *call) error {
	err := http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
