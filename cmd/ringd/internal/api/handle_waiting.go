package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/waiting"
	"github.com/ringd/ringd/schema/wire"
)

func (s *Server) listApprovals(c *call) error {
	p := waiting.Page{After: c.r.URL.Query().Get("after"), Limit: 100}
	if text := c.r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > waiting.MaxPage {
			return invalid("limit: want a number between 1 and %d", waiting.MaxPage)
		}
		p.Limit = n
	}
	list, err := s.cfg.Daemon.ListApprovals(c.r.Context(), c.actor, p)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, list)
}

func (s *Server) getCall(c *call) error {
	out, err := s.cfg.Daemon.GetCall(c.r.Context(), c.actor, c.r.PathValue("id"), c.r.PathValue("call"))
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, out)
}

// approve decides a call in the name of the caller, and of an owner that the configuration lets it stand for.
func (s *Server) approve(c *call) error {
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	var answer wire.ApprovalAnswer
	if err := decode(raw, &answer); err != nil {
		return err
	}
	if err := s.clearReadDeadline(c); err != nil {
		return err
	}
	who := waiting.Approver{Name: c.actor.Name, Stands: s.table.stands(c.peer)}
	run, err := s.cfg.Daemon.Approve(c.r.Context(), who, c.r.PathValue("run"), c.r.PathValue("call"), answer)
	if errors.Is(err, waiting.ErrNotApprover) {
		return notApprover(who)
	}
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, run)
}

// notApprover returns the owners that the caller stands for, and where they are configured.
func notApprover(who waiting.Approver) error {
	stands := "nobody"
	if len(who.Stands) > 0 {
		stands = strings.Join(who.Stands, ", ")
	}
	return &codedError{http.StatusForbidden, wire.CodeNotAnApprover, fmt.Sprintf(
		"%s: %s may answer as %s; see approvers in the daemon's configuration, or the owners of a token",
		waiting.ErrNotApprover, who.Name, stands)}
}

func (s *Server) resumeRun(c *call) error {
	run, err := s.cfg.Daemon.ResumeRun(c.r.Context(), c.actor, c.r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, run)
}

func (s *Server) revoke(c *call) error {
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	var req wire.Revocation
	if err := decode(raw, &req); err != nil {
		return err
	}
	if err := s.clearReadDeadline(c); err != nil {
		return err
	}
	run, err := s.cfg.Daemon.RevokeGrants(c.r.Context(), c.actor, c.r.PathValue("id"), req.Grants)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, run)
}

func (s *Server) listSessions(c *call) error {
	list, err := s.cfg.Daemon.ListSessions(c.r.Context(), c.actor)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, list)
}

func (s *Server) dropSession(c *call) error {
	owner := c.r.URL.Query().Get("actor")
	if err := s.cfg.Daemon.DropSession(c.r.Context(), c.actor, owner, c.r.PathValue("name")); err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, wire.SessionList{Sessions: []wire.Session{}})
}
