package waiting

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/seal"
	"github.com/ringd/ringd/cmd/ringd/internal/store"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/ruleoftwo"
)

// sessionMagic is the start of an encoded session, and names the format.
const sessionMagic = "ringd.session/v1\n"

// maxSessionHead bounds an encoded session without its snapshot.
const maxSessionHead = 64 << 10

// ErrSession: this run may not have the session. The wrapping error says why.
var ErrSession = errors.New("not a session of this run")

// sessionHead is the part before the snapshot.
type sessionHead struct {
	Name, Agent, Actor, Executor, Engine, Run string
	At                                        time.Time
	Touched                                   *ruleoftwo.Touched `json:",omitempty"`
}

// encodeSession encodes s: the magic, the length of the head, the head as JSON, and the snapshot.
func encodeSession(s contract.SessionState) ([]byte, error) {
	head, err := json.Marshal(sessionHead{s.Name, s.Agent, s.Actor, s.Executor, s.Engine, s.Run, s.At, s.Touched})
	if err != nil {
		return nil, fmt.Errorf("encode session: %w", err)
	}
	if len(head) > maxSessionHead || len(s.Snapshot) == 0 {
		return nil, errors.New("encode session: its head is too large, or it has no snapshot")
	}
	out := binary.AppendUvarint([]byte(sessionMagic), uint64(len(head)))
	return append(append(out, head...), s.Snapshot...), nil
}

// decodeSession decodes the bytes of encodeSession. The snapshot shares b.
func decodeSession(b []byte) (contract.SessionState, error) {
	bad := func(what string) (contract.SessionState, error) {
		return contract.SessionState{}, errors.New("decode session: " + what)
	}
	rest, ok := bytes.CutPrefix(b, []byte(sessionMagic))
	if !ok {
		return bad("not of this format")
	}
	size, n := binary.Uvarint(rest)
	if n <= 0 || n > 1 && rest[n-1] == 0 || size > maxSessionHead || size > uint64(len(rest)-n) {
		return bad("its lengths are not valid")
	}
	d := json.NewDecoder(bytes.NewReader(rest[n : n+int(size)]))
	d.DisallowUnknownFields()
	var h sessionHead
	if err := d.Decode(&h); err != nil {
		return bad("its head cannot be read")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("data after the head")
	}
	snapshot := rest[n+int(size):]
	if h.Name == "" || h.Agent == "" || h.Actor == "" || h.Executor == "" || h.Engine == "" || len(snapshot) == 0 {
		return bad("it is incomplete")
	}
	return contract.SessionState{Name: h.Name, Agent: h.Agent, Actor: h.Actor, Executor: h.Executor,
		Engine: h.Engine, Run: h.Run, At: h.At, Touched: h.Touched, Snapshot: snapshot}, nil
}

func sessionBinding(s store.Session) seal.Binding {
	return seal.Binding{
		Kind:     seal.Session,
		Run:      s.Name,
		Seq:      s.Seq,
		Agent:    s.Agent,
		Actor:    s.Actor,
		Revision: s.Revision,
		Engine:   s.Engine,
	}
}

// KeepSession seals s and replaces the state of the session with it. Errors are ErrSession, whose text
// goes into the outcome, and faults. After any of them the session is unchanged.
func (k *Keeper) KeepSession(ctx context.Context, s contract.SessionState) error {
	limits, revision := k.sessions(s.Agent)
	if limits.Age <= 0 || limits.Bytes <= 0 {
		return fmt.Errorf("%w: the policy in force grants agent %s no sessions", ErrSession, s.Agent)
	}
	if int64(len(s.Snapshot)) > limits.Bytes {
		return fmt.Errorf("%w: its state has %d bytes; the policy allows %d", ErrSession, len(s.Snapshot), limits.Bytes)
	}
	plain, err := encodeSession(s)
	if err != nil {
		return err
	}
	old, err := k.cfg.Store.Session(ctx, s.Actor, s.Name)
	if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("keep session: %w", err)
	}
	row := store.Session{
		Actor:    s.Actor,
		Name:     s.Name,
		Agent:    s.Agent,
		Executor: s.Executor,
		Was:      old.Seq,
		Seq:      old.Seq + 1,
		Revision: revision,
		KeyID:    k.cfg.Sealer.KeyID(),
		Engine:   s.Engine,
		Expires:  k.cfg.Now().Add(limits.Age),
	}
	if row.Sealed, err = k.cfg.Sealer.Seal(sessionBinding(row), plain); err != nil {
		return fmt.Errorf("seal session: %w", err)
	}
	return k.cfg.Store.PutSession(ctx, row)
}

// OpenSession returns the state from which a run of this agent and executor continues. It is nil if
// there is none, if it is too old, or if the policy grants none, which the ring refuses. ErrSession: the
// session is of another agent or executor. Other errors are those of [Keeper.Open].
func (k *Keeper) OpenSession(ctx context.Context, actor, name, agent, executor string) (*contract.SessionState, error) {
	if limits, _ := k.sessions(agent); limits.Age <= 0 || limits.Bytes <= 0 {
		return nil, nil
	}
	row, err := k.cfg.Store.Session(ctx, actor, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case row.Agent != agent || row.Executor != executor:
		return nil, fmt.Errorf("%w: it is of agent %s and executor %s", ErrSession, row.Agent, row.Executor)
	case !row.Expires.IsZero() && !k.cfg.Now().Before(row.Expires):
		return nil, nil
	}
	s, err := k.unseal(row)
	if err != nil {
		return nil, err
	}
	if s.Name != name || s.Agent != agent || s.Actor != actor || s.Executor != executor || s.Engine != row.Engine {
		return nil, fmt.Errorf("open session %s: %w", name, &seal.IntegrityError{Field: "name"})
	}
	return &s, nil
}

// StateOf returns the state of a session, whether or not the policy grants it. Errors are those of
// the store and of [Keeper.Open].
func (k *Keeper) StateOf(ctx context.Context, actor, name string) (contract.SessionState, error) {
	row, err := k.cfg.Store.Session(ctx, actor, name)
	if err != nil {
		return contract.SessionState{}, err
	}
	return k.unseal(row)
}

func (k *Keeper) unseal(row store.Session) (contract.SessionState, error) {
	plain, err := k.cfg.Sealer.Open(sessionBinding(row), row.Sealed)
	if err != nil {
		return contract.SessionState{}, fmt.Errorf("open session %s: %w", row.Name, err)
	}
	s, err := decodeSession(plain)
	if err != nil {
		return contract.SessionState{}, fmt.Errorf("open session %s: %w", row.Name, err)
	}
	return s, nil
}
