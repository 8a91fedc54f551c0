package api

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/api/typescript"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// document holds openapi.json, which openapigen writes from Routes.
//
//go:embed openapi.json
var document embed.FS

func (s *Server) openapi(c *call) error {
	b, err := document.ReadFile("openapi.json")
	if err != nil {
		return err
	}
	return s.write(c, http.StatusOK, "application/json", b)
}

func (s *Server) decide(c *call) error {
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	if err := wellFormed(raw); err != nil {
		return err
	}
	actions, many := []json.RawMessage{raw}, false
	if bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")) {
		many = true
		if err := json.Unmarshal(raw, &actions); err != nil {
			return invalid("the body is no list of actions")
		}
	}
	decisions, err := s.cfg.Daemon.Decide(c.r.Context(), c.actor, c.r.URL.Query().Get("agent"), actions)
	if err != nil {
		return err
	}
	if many {
		return s.reply(c, http.StatusOK, decisions)
	}
	return s.reply(c, http.StatusOK, decisions[0])
}

// notModified answers 304 if the caller has the revision in force. With ?wait= it first waits for another
// revision. It returns false if no answer was written.
func (s *Server) notModified(c *call, get func() (string, error)) (done bool, err error) {
	revision, err := get()
	if err != nil {
		return false, err
	}
	have := c.r.Header.Get("If-None-Match")
	if text := c.r.URL.Query().Get("wait"); text != "" {
		wait, err := time.ParseDuration(text)
		if err != nil || wait < 0 || wait > wire.MaxWaitMillis*time.Millisecond {
			return false, invalid("wait: want a duration up to %ds, such as 30s", wire.MaxWaitMillis/1000)
		}
		if have == "" || matches(have, revision) {
			if _, err := s.cfg.Daemon.Turned(c.r.Context(), revision, wait); err != nil {
				return false, err
			}
			if revision, err = get(); err != nil {
				return false, err
			}
		}
	}
	h := c.w.Header()
	h.Set("ETag", `"`+revision+`"`)
	h.Set("Cache-Control", "no-cache")
	if have == "" || !matches(have, revision) {
		return false, nil
	}
	if err := s.deadline(c); err != nil { // with a deadline, like every answer
		return false, err
	}
	c.w.WriteHeader(http.StatusNotModified)
	return true, nil
}

// matches reports whether an If-None-Match header names the revision.
func matches(header, revision string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == "*" || tag == `"`+revision+`"` {
			return true
		}
	}
	return false
}

func (s *Server) getProfile(c *call) error {
	var p wire.Profile
	done, err := s.notModified(c, func() (string, error) {
		var err error
		p, err = s.cfg.Daemon.Profile(c.r.PathValue("agent"), c.r.PathValue("executor"))
		return p.Revision, err
	})
	if done || err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, p)
}

func (s *Server) getTypes(c *call) error {
	var p wire.Profile
	done, err := s.notModified(c, func() (string, error) {
		var err error
		p, err = s.cfg.Daemon.Profile(c.r.PathValue("agent"), profiles.ExecutorJS)
		return p.Revision, err
	})
	if done || err != nil {
		return err
	}
	text, err := typescript.Declare(p.Agent, p.Revision, p.Bridges)
	if err != nil {
		return fmt.Errorf("declare the bridges of agent %s: %w", p.Agent, err)
	}
	return s.write(c, http.StatusOK, "application/typescript; charset=utf-8", []byte(text))
}

func (s *Server) status(c *call) error {
	return s.reply(c, http.StatusOK, s.cfg.Daemon.Status(c.r.Context()))
}

func (s *Server) healthz(c *call) error {
	locked := s.cfg.Lockdown != nil && s.cfg.Lockdown.Show(0).State != wire.LockdownOpen
	return s.reply(c, http.StatusOK, wire.Health{Status: "ok", Lockdown: locked})
}

func (s *Server) getLockdown(c *call) error {
	if s.cfg.Lockdown == nil {
		return noPath(c.r)
	}
	return s.reply(c, http.StatusOK, s.cfg.Lockdown.Show(s.cfg.Daemon.Status(c.r.Context()).Runs.Live))
}

func (s *Server) setLockdown(c *call) error {
	if s.cfg.Lockdown == nil {
		return noPath(c.r)
	}
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	var o wire.LockdownOrder
	if err := decode(raw, &o); err != nil {
		return err
	}
	now, err := s.cfg.Lockdown.Set(c.r.Context(), c.actor.Name, o)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, now)
}

func (s *Server) acceptTime(c *call) error {
	if s.cfg.AcceptTime == nil {
		return noPath(c.r)
	}
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	var o wire.ClockOrder
	if err := decode(raw, &o); err != nil {
		return err
	}
	now, err := s.cfg.AcceptTime(c.r.Context(), c.actor.Name, o.Reason)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, now)
}

func (s *Server) archiveAudit(c *call) error {
	if s.cfg.Archive == nil {
		return noPath(c.r)
	}
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	var o wire.ArchiveOrder
	if err := decode(raw, &o); err != nil {
		return err
	}
	done, err := s.cfg.Archive(c.r.Context(), c.actor, o)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, done)
}

func (s *Server) readyz(c *call) error {
	st := s.cfg.Daemon.Status(c.r.Context())
	if st.Ready {
		return s.reply(c, http.StatusOK, wire.Health{Status: "ok"})
	}
	codes := make([]string, 0, len(st.Conditions))
	for _, condition := range st.Conditions {
		codes = append(codes, condition.Code)
	}
	return &codedError{http.StatusServiceUnavailable, wire.CodeNotReady,
		"new runs are refused: " + strings.Join(codes, ", ")}
}

func (s *Server) metrics(c *call) error {
	if s.cfg.Meter == nil {
		return &codedError{http.StatusNotFound, wire.CodePathUnknown, "this daemon has no metrics"}
	}
	if err := s.deadline(c); err != nil {
		return err
	}
	s.cfg.Meter.Handler().ServeHTTP(c.w, c.r)
	return nil
}
