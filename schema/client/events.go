package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ringd/ringd/schema/wire"
)

// maxEvent is the largest event, in bytes.
const maxEvent = 4 << 20

// Events yields the events of a run after the sequence number after, up to its last event. With after 0 it
// starts at the first event. If the connection breaks, Events reconnects and continues after the last event
// that it yielded. An error of the daemon or of ctx is yielded and ends the sequence.
func (c *Client) Events(ctx context.Context, id string, after int64) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		for {
			over, err := c.stream(ctx, id, &after, yield)
			if over {
				return
			}
			if err != nil {
				yield(wire.Event{}, err)
				return
			}
		}
	}
}

// stream reads events from one connection. over is true if the consumer stopped, or if the last event
// arrived. If a connection delivered an event before it broke, that is not an error.
func (c *Client) stream(ctx context.Context, id string, after *int64, yield func(wire.Event, error) bool) (
	over bool, err error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if *after > 0 {
		header.Set("Last-Event-ID", strconv.FormatInt(*after, 10))
	}
	resp, err := c.send(ctx, "GET", "/v1/runs/"+url.PathEscape(id)+"/events", nil, header)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	began := *after
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue // the data contains id and event too
		}
		var e wire.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return false, fmt.Errorf("read an event: %w", err)
		}
		*after = e.Seq
		if !yield(e, nil) || e.Final() {
			return true, nil
		}
	}
	switch err := lines.Err(); {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case *after > began:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read events: %w", err)
	default:
		return false, fmt.Errorf("read events: %w", io.ErrUnexpectedEOF)
	}
}
