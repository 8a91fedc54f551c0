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

// OrdersConfig configures an OrderDesk. All fields but Logger are required.
type OrdersConfig struct {
	Roots    *trust.Roots
	Lock     *Lock
	Recorder recorder
	Now      func() time.Time
	Logger   *slog.Logger // nil discards
}

// OrderDesk carries out the orders of a sync folder. It is the sink of a syncer with [OrderLimits].
type OrderDesk struct {
	cfg         OrdersConfig
	lastRefusal string // the last refusal that was logged, so that each is logged once
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

// Apply carries out an order or refuses it. It returns an error if the same order may succeed at the next
// check of the folder.
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
			return nil // the reported result stays
		}
		out.Result, out.Message = wire.OrderUnchanged, "it was carried out before"
	} else if err := d.cfg.Lock.Obey(ctx, o); err != nil {
		return d.refuse(ctx, out, err)
	}
	d.lastRefusal, out.At = "", d.cfg.Now().UTC()
	d.cfg.Lock.Note(&out)
	return nil
}

// refuse reports a refused order, once. It returns nil if the next check of the folder would have the same
// result.
func (d *OrderDesk) refuse(ctx context.Context, o wire.Order, cause error) error {
	code, later := codeOf(cause)
	o.Result, o.Code, o.At = wire.OrderRefused, code, d.cfg.Now().UTC()
	o.Message = trust.LockdownFile + " is not carried out: " + code + ": " + strings.TrimPrefix(
		textWithoutCode(cause),
		code+": ",
	)
	if todo := remedy(code); todo != "" {
		o.Message += "; " + todo
	}
	again := error(nil)
	if later {
		again = cause
	}
	told := o.Digest + o.Message
	if told == d.lastRefusal {
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
	d.lastRefusal = told
	return again
}

// textWithoutCode returns the text of an error without the code of a push.
func textWithoutCode(err error) string {
	var r *trust.Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return err.Error()
}

// remedy returns what to do about a refusal with this code, or "" if the reason says it.
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

// codeOf returns the code of a refused order, and whether the order may succeed later.
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
		return "order_replayed", true // it counts once another actor has lifted the lockdown
	case errors.Is(err, ErrEquivocated):
		return "order_equivocated", false
	case errors.Is(err, ErrExpired):
		return "order_expired", true // or not valid yet
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

// Current does nothing: the order was handled before.
func (d *OrderDesk) Current(context.Context, string) {}

// Reject refuses a file that is no order. A folder without the file is normal.
func (d *OrderDesk) Reject(ctx context.Context, err error) {
	if errors.Is(err, syncer.ErrEmpty) {
		if last := d.cfg.Lock.LastOrder(); last != nil && last.Result == wire.OrderRefused {
			d.cfg.Lock.Note(nil) // the refused file was removed
		}
		d.lastRefusal = ""
		return
	}
	_ = d.refuse(ctx, wire.Order{}, err) // the syncer checks again
}

// Lost does nothing: without a folder there is no order, and the syncer of pushes reports the missing folder.
func (d *OrderDesk) Lost(context.Context, error) {}

// Watch carries out the orders of a folder until closed is called. It returns after the first check of the
// folder. A nil OrderDesk watches nothing. poll is that of syncer.Config.
func (d *OrderDesk) Watch(ctx context.Context, dir string, poll time.Duration) (closed func() error, err error) {
	if d == nil {
		return func() error { return nil }, nil
	}
	first := &firstLook{OrderDesk: d, looked: make(chan struct{})}
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

// firstLook signals the first check of a folder, whatever it held.
type firstLook struct {
	*OrderDesk
	once   sync.Once
	looked chan struct{}
}

func (f *firstLook) seen() { f.once.Do(func() { close(f.looked) }) }

func (f *firstLook) Apply(ctx context.Context, p syncer.Push) error {
	defer f.seen()
	return f.OrderDesk.Apply(ctx, p)
}

func (f *firstLook) Reject(ctx context.Context, err error) { f.OrderDesk.Reject(ctx, err); f.seen() }
func (f *firstLook) Lost(ctx context.Context, err error)   { f.OrderDesk.Lost(ctx, err); f.seen() }
