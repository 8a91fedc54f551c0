package run

import (
	"fmt"
	"io"
	"time"

	"github.com/ringd/ringd/executors"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/rings/interpreter/binding"
	"github.com/ringd/ringd/rings/interpreter/contract"
	"github.com/ringd/ringd/rings/interpreter/jsonvalue"
	"github.com/ringd/ringd/rings/interpreter/pause"
)

// Subject says which program runs, for whom and on what.
type Subject struct {
	ID       string
	Actor    string
	Agent    string
	Executor string
	Program  executors.Program
	Parent   *pause.Parent // the call that it is started for; nil for a first run
	Session  string        // empty if the run keeps no state for a later one
}

// identity is the part of a run that does not change once the run is live, so it needs no
// lock: its subject, the policies that bind it, and the ring and the journal that it
// writes to.
type identity struct {
	host     *Host
	id       string
	actor    string
	agent    string
	executor string
	program  executors.Program
	session  string
	seed     [32]byte
	started  time.Time

	bound   *binding.Binding
	limits  profiles.Limits
	from    *pause.Record // the pause that the run goes on from; nil if it was started
	journal journalWriter
}

// ID returns the id of the run.
func (i *identity) ID() string { return i.id }

// Executor returns the name of the executor of the run.
func (i *identity) Executor() string { return i.executor }

// Bound returns the policies that bind the run.
func (i *identity) Bound() *binding.Binding { return i.bound }

// DrawSeed reads the seed of the guest's random numbers.
func (i *identity) DrawSeed(random io.Reader) error {
	_, err := io.ReadFull(random, i.seed[:])
	return err
}

// Record returns a record with what is known of the run.
func (i *identity) Record(kind contract.Kind) contract.Record {
	g := i.host.InForce()
	return contract.Record{Kind: kind, Generation: g.Number, Revision: g.Revision,
		Actor: i.actor, Agent: i.agent, Run: i.id}
}

// Put writes a record. It is synced if d asks for that, or if a policy does that binds
// the run or is in force now.
func (i *identity) Put(rec contract.Record, d contract.Durability) error {
	if i.bound.SyncsRecords(i.host.InForce()) {
		d = contract.Synced
	}
	return i.journal.Write(rec, d)
}

// recordClaims records the refusals that an executor made itself: for a call of the run,
// or for the run if call is empty.
func (i *identity) recordClaims(call, executor string, denials []profiles.Decision, beyond int64) error {
	c := guestClaims{Executor: executor, Denials: denials, Beyond: beyond, Full: i.bound.RecordsWords()}
	rec := i.Record("")
	rec.Call = call
	for _, rec := range c.Records(rec) {
		if err := i.Put(rec, contract.Written); err != nil {
			return fmt.Errorf("record what run %s was refused: %w", i.id, err)
		}
	}
	return nil
}

// callRecord returns a record about a call.
func (i *identity) callRecord(kind contract.Kind, c *call) contract.Record {
	rec := i.Record(kind)
	rec.Call, rec.Capability, rec.Digest = c.ID, binding.CapabilityOf(jsonvalue.Clip(c.Bridge, 200)), c.Digest
	return rec
}

// point marks a point at which a test may crash the host.
func (i *identity) point(label string) {
	if i.host.Point != nil {
		i.host.Point(label)
	}
}
