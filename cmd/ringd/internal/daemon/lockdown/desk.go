package lockdown

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/audit"
	"github.com/ringd/ringd/cmd/ringd/internal/syncer"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/schema/wire"
)

// OrdersConfig is what a Desk needs; all but Logger is required.
type OrdersConfig struct {
	Roots    *trust.Roots
	Lock     *Lock
	Recorder recorder
	Now      func() time.Time
	Logger   *slog.Logger // nil discards
}

// OrderDesk takes the orders of a sync folder, as the sink of a syncer with Limits.
type OrderDesk struct {
	cfg  OrdersConfig
	told string // the refusal that was told last: each is told once
}

// NewDesk checks the configuration.
func NewDesk(cfg OrdersConfig) (*OrderDesk, error) {
	if cfg.Roots == nil || cfg.Lock == nil || cfg.Recorder == nil || cfg.Now == nil {
		return nil, errors.New("orders.Config: Roots, Lock, Recorder and Now are required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &OrderDesk{cfg: cfg}, nil
}

// Apply obeys an order, or refuses it. An error means that the same order may be obeyed
// at another look.
func (d *OrderDesk) Apply(ctx context.Context, p syncer.Push) error {
	if len(p.Sources) != 1 || p.Sources[0].Name != trust.LockdownFile {
		return d.refuse(ctx, wire.Order{}, errors.New("not one order"))
	}
	raw := p.Sources[0].Data
	o, signers, err := OpenOrder(ctx, d.cfg.Roots, raw)
	if err != nil {
		return d.refuse(ctx, wire.Order{Digest: p.Digest}, err)
	}
	out := wire.Order{State: o.State, Sequence: o.Sequence, Issuer: o.Issuer, Reason: o.Reason, Digest: o.Digest()}
	for _, s := range signers {
		out.Signers = append(out.Signers, wire.Signer{Key: s.Key, Roles: s.Roles})
	}
	out.Result = wire.OrderObeyed
	if d.cfg.Lock.Obeyed(o) {
		if last := d.cfg.Lock.LastOrder(); last != nil && last.Digest == out.Digest {
			return nil // and what became of it stays
		}
		out.Result, out.Message = wire.OrderUnchanged, "it was carried out before"
	} else if err := d.cfg.Lock.Obey(ctx, o); err != nil {
		return d.refuse(ctx, out, err)
	}
	d.told, out.At = "", d.cfg.Now().UTC()
	d.cfg.Lock.Note(&out)
	return nil
}

// refuse tells, once, that an order is not obeyed. The error is nil when another look
// would find the same.
func (d *OrderDesk) refuse(ctx context.Context, o wire.Order, cause error) error {
	code, later := codeOf(cause)
	o.Result, o.Code, o.At = wire.OrderRefused, code, d.cfg.Now().UTC()
	o.Message = trust.LockdownFile + " is not carried out: " + code + ": " + strings.TrimPrefix(plain(cause), code+": ")
	if todo := remedy(code); todo != "" {
		o.Message += "; " + todo
	}
	again := error(nil)
	if later {
		again = cause
	}
	told := o.Digest + o.Message
	if told == d.told {
		return again
	}
	d.cfg.Lock.Note(&o)
	d.cfg.Logger.Warn("a lockdown order is refused", "code", code, "error", cause)
	rec := audit.Record{Kind: audit.LockdownRefused, Actor: "ringd", Digest: o.Digest,
		Detail: map[string]string{
			"code":     code,
			"reason":   o.Message,
			"state":    o.State,
			"issuer":   o.Issuer,
			"sequence": fmt.Sprint(o.Sequence),
		}}
	if _, err := d.cfg.Recorder.Append(ctx, rec, audit.Synced); err != nil {
		return errors.Join(cause, err)
	}
	d.told = told
	return again
}

// plain is an error without the code of a push.
func plain(err error) string {
	var r *trust.Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return err.Error()
}

// remedy is what to do about any refusal of a code; "": its reason says that.
func remedy(code string) string {
	switch code {
	case "order_signature", "order_threshold":
		return "have keys of the role lockdown sign it: ringd lockdown --sign"
	case "order_audience":
		return "sign it for this host: ringd lockdown --sign --audience NAME, as trust.audience of its configuration"
	case "order_malformed", "order_type":
		return "make it with ringd lockdown --sign"
	case "order_equivocated":
		return "find out who signed two"
	case "order_torn":
		return "write it under another name and rename it"
	case "order_file", "order_too_large":
		return "put a regular file there, or a link that stays in the folder"
	default:
		return ""
	}
}

// codeOf is the code of a refused order, and whether the order may be obeyed later.
func codeOf(err error) (code string, later bool) {
	var r *trust.Refusal
	var invalid *InvalidError
	switch {
	case errors.As(err, &r):
		return "order_" + strings.TrimPrefix(string(r.Code), "push_"), r.Later
	case errors.As(err, &invalid):
		return "order_malformed", false
	case errors.Is(err, ErrReplayed):
		return "order_replayed", false
	case errors.Is(err, ErrForgotten):
		return "order_replayed", true // it counts once somebody else has lifted
	case errors.Is(err, ErrEquivocated):
		return "order_equivocated", false
	case errors.Is(err, ErrExpired):
		return "order_expired", true // or it is not valid yet
	case errors.Is(err, ErrNotLifted):
		return "order_not_lifted", true
	case errors.Is(err, syncer.ErrTorn), errors.Is(err, syncer.ErrWriting):
		return "order_torn", true
	case errors.Is(err, syncer.ErrTooLarge), errors.Is(err, syncer.ErrTooMany), errors.Is(err, syncer.ErrTooDeep):
		return "order_too_large", true
	default:
		return "order_file", true
	}
}

// Current does nothing: the order was looked at.
func (d *OrderDesk) Current(context.Context, string) {}

// Reject refuses what is no order. A folder without one is as it should be.
func (d *OrderDesk) Reject(ctx context.Context, err error) {
	if errors.Is(err, syncer.ErrEmpty) {
		if last := d.cfg.Lock.LastOrder(); last != nil && last.Result == wire.OrderRefused {
			d.cfg.Lock.Note(nil) // the one that was refused was taken away
		}
		d.told = ""
		return
	}
	_ = d.refuse(ctx, wire.Order{}, err) // the syncer looks again by itself
}

// Lost does nothing: without a folder there is no order, and the push says so.
func (d *OrderDesk) Lost(context.Context, error) {}

// Watch obeys the orders of a folder from now on, until it is closed. It returns when
// the folder was looked at once. A nil Desk watches nothing. poll is that of syncer.Config.
func (d *OrderDesk) Watch(ctx context.Context, dir string, poll time.Duration) (closed func() error, err error) {
	if d == nil {
		return func() error { return nil }, nil
	}
	first := &first{OrderDesk: d, looked: make(chan struct{})}
	s, err := syncer.Start(
		ctx,
		syncer.Config{Dir: dir, Sink: first, Logger: d.cfg.Logger, Limits: OrderLimits(), Poll: poll},
	)
	if err != nil {
		return nil, err
	}
	select {
	case <-first.looked:
	case <-ctx.Done():
	}
	return s.Close, nil
}

// first says when a folder was looked at, whatever it held.
type first struct {
	*OrderDesk
	once   sync.Once
	looked chan struct{}
}

func (f *first) seen() { f.once.Do(func() { close(f.looked) }) }

func (f *first) Apply(ctx context.Context, p syncer.Push) error {
	defer f.seen()
	return f.OrderDesk.Apply(ctx, p)
}

func (f *first) Reject(ctx context.Context, err error) { f.OrderDesk.Reject(ctx, err); f.seen() }
func (f *first) Lost(ctx context.Context, err error)   { f.OrderDesk.Lost(ctx, err); f.seen() }
