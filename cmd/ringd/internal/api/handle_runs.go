package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/daemon/view"
	"github.com/ringd/ringd/schema/wire"
)

func (s *Server) startRun(c *call) error {
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	var req wire.RunRequest
	if err := decode(raw, &req); err != nil {
		return err
	}
	if err := s.clearReadDeadline(c); err != nil {
		return err
	}
	run, err := s.cfg.Daemon.StartRun(c.r.Context(), c.actor, req)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/v1/runs/"+run.ID)
	return s.reply(c, http.StatusCreated, run)
}

func (s *Server) listRuns(c *call) error {
	q := c.r.URL.Query()
	f := view.Filter{Prefix: q.Get("id"), Agent: q.Get("agent"), States: q["state"], Limit: 100}
	if f.Prefix != "" && len(f.Prefix) < wire.MinRunPrefix {
		return invalid("id: want at least %d letters", wire.MinRunPrefix)
	}
	if text := q.Get("before"); text != "" {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return invalid("before: want an RFC 3339 time")
		}
		f.Before = at
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			return invalid("limit: want a number between 1 and 1000")
		}
		f.Limit = n
	}
	list, err := s.cfg.Daemon.ListRuns(c.r.Context(), c.actor, f)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, list)
}

func (s *Server) getRun(c *call) error {
	var wait time.Duration
	if text := c.r.URL.Query().Get("wait_ms"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > wire.MaxWaitMillis {
			return invalid("wait_ms: want a number between 0 and %d", wire.MaxWaitMillis)
		}
		wait = time.Duration(n) * time.Millisecond
	}
	run, err := s.cfg.Daemon.GetRun(c.r.Context(), c.actor, c.r.PathValue("id"), wait)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, run)
}

func (s *Server) answerRun(c *call) error {
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	var answers wire.Answers
	if err := decode(raw, &answers); err != nil {
		return err
	}
	if err := s.clearReadDeadline(c); err != nil {
		return err
	}
	run, err := s.cfg.Daemon.AnswerRun(c.r.Context(), c.actor, c.r.PathValue("id"), answers)
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, run)
}

func (s *Server) cancelRun(c *call) error {
	run, err := s.cfg.Daemon.CancelRun(c.r.Context(), c.actor, c.r.PathValue("id"))
	if err != nil {
		return err
	}
	return s.reply(c, http.StatusOK, run)
}

// maxEvent is the largest id of an event. JSON readers can represent it exactly.
const maxEvent = 1<<53 - 2

// runEvents streams the events of a run until its last one.
func (s *Server) runEvents(c *call) error {
	text := c.r.Header.Get("Last-Event-ID")
	if text == "" {
		text = c.r.URL.Query().Get("after")
	}
	var after int64
	if text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > maxEvent {
			return invalid("Last-Event-ID: want the id of an event")
		}
		after = n
	}
	id := c.r.PathValue("id")
	if _, err := s.cfg.Daemon.GetRun(c.r.Context(), c.actor, id, 0); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	c.w.WriteHeader(http.StatusOK)
	if err := s.flush(c); err != nil { // a reader learns at once that it is connected
		s.cfg.Logger.Debug("event stream ended", "request", c.id, "error", err)
		return nil
	}
	for {
		events, err := s.nextEvents(c, id, after)
		if err != nil {
			return err
		}
		if err := s.sendEvents(c, events); err != nil {
			s.cfg.Logger.Debug("event stream ended", "request", c.id, "error", err)
			return nil
		}
		for _, e := range events {
			after = e.Seq
			if e.Final() {
				return nil
			}
		}
	}
}

// nextEvents waits for events. After the heartbeat interval it returns none and no error.
func (s *Server) nextEvents(c *call, id string, after int64) ([]wire.Event, error) {
	ctx, cancel := context.WithTimeout(c.r.Context(), s.cfg.Heartbeat)
	defer cancel()
	events, err := s.cfg.Daemon.Events(ctx, c.actor, id, after)
	if errors.Is(err, context.DeadlineExceeded) && c.r.Context().Err() == nil {
		return nil, nil
	}
	return events, err
}

// flush sends what is written, with a deadline.
func (s *Server) flush(c *call) error {
	if err := s.deadline(c); err != nil {
		return err
	}
	return http.NewResponseController(c.w).Flush()
}

// sendEvents writes events, or a comment that keeps the connection open.
func (s *Server) sendEvents(c *call, events []wire.Event) error {
	if err := s.deadline(c); err != nil {
		return err
	}
	if len(events) == 0 {
		if _, err := c.w.Write([]byte(": still here\n\n")); err != nil {
			return err
		}
	}
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("encode an event: %w", err)
		}
		if _, err := fmt.Fprintf(c.w, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Type, data); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.w).Flush()
}
