package trust_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringd/ringd/cmd/ringd/internal/cli/clitest"
	"github.com/ringd/ringd/cmd/ringd/internal/trust"
	"github.com/ringd/ringd/profiles"
	"github.com/ringd/ringd/schema/wire"
)

// attack is one row: what is done to a host on which push 1 is in force, and what the
// host says. Nothing else comes in force by it.
type attack struct {
	name string
	do   func(h *host)
	code trust.Code
	says string // in the message
	// layers are the checks that refuse it. With them taken away it is taken, which
	// shows that nothing else refuses it by chance; nil: there is nothing to take, what
	// came is no push at all.
	layers []trust.Code
	// mend takes away only what is wrong with it, where no check of the gate is to take:
	// then it is taken, which shows the same.
	mend  func(h *host)
	later bool // once the clock is right the same push is taken
	open  bool // the layer is the syncer's: without it everything is read
	// beside: what is signed is taken, and of the rest nothing is but a warning.
	beside bool
}

// second is what an honest second push looks like.
func second(h *host) trust.Statement { return statement(2, revision(h, "one")) }

func revision(h *host, policy string) string { h.t.Helper(); return setOf(h.t, policy).Revision }

func attacks() []attack {
	both := func(s trust.Statement, h *host, policy string, x ...profiles.Exception) *trust.Envelope {
		return envelope(h.t, s, setOf(h.t, policy, x...), "ana", "bob")
	}
	good := func(h *host) []byte { return encoded(h.t, both(second(h), h, "two")) }
	source := []byte("apiVersion: ringd/v1\n")
	exception := func(by ...string) profiles.Exception {
		return profiles.Exception{ID: "EXC-1", Owner: "user:ana@acme.example", ApprovedBy: by, Reason: "r",
			Expires: start.Add(time.Hour)}
	}
	signature := []trust.Code{trust.CodeSignature, trust.CodeThreshold}
	return []attack{
		{name: "unsigned sources", code: trust.CodeUnsigned, says: "policy.yaml", do: func(h *host) {
			h.remove(trust.FileName)
			h.put("policy.yaml", source)
		}},
		{name: "a source beside the push", code: trust.CodeMixed, says: "policy.yaml", open: true, beside: true, layers: []trust.Code{trust.CodeMixed}, do: func(h *host) {
			h.put("policy.yaml", source)
			h.put(trust.FileName, good(h))
		}},
		{name: "a module beside the push", code: trust.CodeMixed, says: "modules", open: true, beside: true, layers: []trust.Code{trust.CodeMixed}, do: func(h *host) {
			h.must(os.Mkdir(filepath.Join(h.sync, "modules"), 0o700))
			h.put("modules/m.js", []byte("export default 1"))
			h.put(trust.FileName, good(h))
		}},
		{name: "a read-me beside the push", code: trust.CodeMixed, says: "README", open: true, beside: true, layers: []trust.Code{trust.CodeMixed}, do: func(h *host) {
			h.put("README", nil)
			h.put(trust.FileName, good(h))
		}},
		{name: "a sync conflict beside the push", code: trust.CodeMixed, says: "push.dsse.sync-conflict", beside: true, do: func(h *host) {
			h.put("push.dsse.sync-conflict-20260301-120000-ABCDEFG.json", encoded(h.t, both(second(h), h, "three")))
			h.put(trust.FileName, good(h))
		}},
		{name: "a folder of names beside the push", code: trust.CodeMixed, says: "x", beside: true, do: func(h *host) {
			for i := range 20_000 {
				h.must(os.Symlink("nowhere", filepath.Join(h.sync, fmt.Sprint("x", i))))
			}
			h.put(trust.FileName, good(h))
		}},
		{name: "signed for another audience, on a host without one", code: trust.CodeAudience, says: "staging", layers: []trust.Code{trust.CodeAudience}, do: func(h *host) {
			s := second(h)
			s.Audience = "staging"
			h.push(both(s, h, "two"))
		}},
		{name: "another name", code: trust.CodeUnsigned, says: "push2.dsse.json", do: func(h *host) {
			h.remove(trust.FileName)
			h.put("push2.dsse.json", good(h))
		}, mend: func(h *host) {
			h.must(os.Rename(filepath.Join(h.sync, "push2.dsse.json"), filepath.Join(h.sync, trust.FileName)))
		}},
		{name: "an empty folder", code: trust.CodeMissing, do: func(h *host) { h.remove(trust.FileName) }},
		{name: "half a file", code: trust.CodeTorn, mend: func(h *host) { h.put(trust.FileName, good(h)) }, do: func(h *host) {
			b := good(h)
			h.put(trust.FileName, b[:len(b)/2])
		}},
		{name: "no byte", code: trust.CodeTorn, do: func(h *host) { h.put(trust.FileName, nil) }},
		{name: "open for writing", code: trust.CodeTorn, says: "open for writing", do: func(h *host) {
			f, err := os.OpenFile(filepath.Join(h.sync, trust.FileName), os.O_WRONLY|os.O_TRUNC, 0)
			h.must(err)
			h.t.Cleanup(func() { f.Close() })
			_, err = f.Write(good(h))
			h.must(err)
			h.writing = f
		}, mend: func(h *host) { h.must(h.writing.Close()) }},
		{name: "a link out of the folder", code: trust.CodeFile, says: "link", do: func(h *host) {
			h.must(os.WriteFile(filepath.Join(h.root, "elsewhere"), good(h), 0o600))
			h.remove(trust.FileName)
			h.must(os.Symlink(filepath.Join(h.root, "elsewhere"), filepath.Join(h.sync, trust.FileName)))
		}, mend: func(h *host) {
			h.must(os.Rename(filepath.Join(h.root, "elsewhere"), filepath.Join(h.sync, trust.FileName)))
		}},
		{name: "a link to nowhere", code: trust.CodeFile, says: "link", do: func(h *host) {
			h.remove(trust.FileName)
			h.must(os.Symlink("nowhere", filepath.Join(h.sync, trust.FileName)))
		}, mend: func(h *host) {
			h.remove(trust.FileName)
			h.put("..data", good(h))
			h.must(os.Symlink("..data", filepath.Join(h.sync, trust.FileName)))
		}},
		{name: "a pipe", code: trust.CodeFile, says: "not a regular file", do: func(h *host) {
			h.remove(trust.FileName)
			clitest.NamedPipe(h.t, filepath.Join(h.sync, trust.FileName))
		}},
		{name: "a folder of that name", code: trust.CodeFile, says: "not a regular file", do: func(h *host) {
			h.remove(trust.FileName)
			h.must(os.Mkdir(filepath.Join(h.sync, trust.FileName), 0o700))
			h.put(trust.FileName+"/"+trust.FileName, good(h))
		}, mend: func(h *host) {
			h.must(os.Rename(filepath.Join(h.sync, trust.FileName), filepath.Join(h.sync, ".inner")))
			h.must(os.Rename(filepath.Join(h.sync, ".inner", trust.FileName), filepath.Join(h.sync, trust.FileName)))
		}},
		{name: "huge", code: trust.CodeTooLarge, do: func(h *host) {
			h.put(trust.FileName, good(h))
			h.must(os.Truncate(filepath.Join(h.sync, trust.FileName), trust.MaxEnvelope+1))
		}, mend: func(h *host) {
			h.must(os.Truncate(filepath.Join(h.sync, trust.FileName), int64(len(good(h)))))
		}},
		{name: "deep", code: trust.CodeMalformed, do: func(h *host) { h.put(trust.FileName, bytes.Repeat([]byte(`[`), 1<<20)) }},
		{name: "deep inside a field", code: trust.CodeMalformed, says: "deeper", do: func(h *host) {
			h.put(trust.FileName, []byte(`{"signatures":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)+`}`))
		}},
		{name: "a field more", code: trust.CodeMalformed, mend: func(h *host) { h.put(trust.FileName, good(h)) }, do: func(h *host) {
			h.put(trust.FileName, bytes.Replace(good(h), []byte(`{"payloadType"`), []byte(`{"x":1,"payloadType"`), 1))
		}},
		{name: "a field twice", code: trust.CodeMalformed, mend: func(h *host) { h.put(trust.FileName, good(h)) }, says: "twice", do: func(h *host) {
			h.put(trust.FileName, bytes.Replace(good(h), []byte(`{"payloadType"`),
				[]byte(`{"payload":"","payloadType"`), 1))
		}},
		{name: "a statement of another kind", code: trust.CodeType, layers: []trust.Code{trust.CodeType}, do: func(h *host) {
			e := both(second(h), h, "two")
			e = &trust.Envelope{PayloadType: "application/vnd.ringd.lockdown+json", Payload: e.Payload}
			h.must(e.Sign(h.t.Context(), key("ana"), key("bob")))
			h.push(e)
		}},
		{name: "the type changed after signing", code: trust.CodeSignature, do: func(h *host) {
			e := both(second(h), h, "two")
			e = &trust.Envelope{PayloadType: "text/plain", Payload: e.Payload}
			h.must(e.Sign(h.t.Context(), key("ana"), key("bob")))
			e.PayloadType = trust.PayloadType
			h.push(e)
		}, layers: signature},
		{name: "no signature", code: trust.CodeSignature, says: "no signature", layers: signature, do: func(h *host) {
			e := both(second(h), h, "two")
			e.Signatures = nil
			h.push(e)
		}},
		{name: "a wrong key", code: trust.CodeSignature, layers: signature, do: func(h *host) {
			h.push(envelope(h.t, second(h), setOf(h.t, "two"), "eve", "mallory"))
		}},
		{name: "a wrong key that calls itself another", code: trust.CodeSignature, layers: signature, do: func(h *host) {
			e := envelope(h.t, second(h), setOf(h.t, "two"), "eve", "mallory")
			e.Signatures[0].KeyID, e.Signatures[1].KeyID = trust.KeyID(public("ana")), trust.KeyID(public("bob"))
			h.push(e)
		}},
		{name: "the signatures of the push before", code: trust.CodeSignature, layers: signature, do: func(h *host) {
			e := both(second(h), h, "two")
			e.Signatures = both(statement(1, ""), h, "one").Signatures
			h.push(e)
		}},
		{name: "an agent swapped", code: trust.CodeSignature, layers: append([]trust.Code{trust.CodeSet}, signature...), do: func(h *host) {
			e := both(second(h), h, "two")
			e.Payload = swapped(h, e.Payload, "three")
			h.push(e)
		}},
		{name: "an agent swapped before signing", code: trust.CodeSet, layers: []trust.Code{trust.CodeSet}, do: func(h *host) {
			e := both(second(h), h, "two")
			e = &trust.Envelope{PayloadType: e.PayloadType, Payload: swapped(h, e.Payload, "three")}
			h.must(e.Sign(h.t.Context(), key("ana"), key("bob")))
			h.push(e)
		}},
		{name: "a grant by an exception that is not listed, so that nobody approves it", code: trust.CodeSet, says: "not listed", layers: []trust.Code{trust.CodeSet}, do: func(h *host) {
			set := setOf(h.t, "two")
			a := set.Agents["default"]
			a.Egress.Allow = append(a.Egress.Allow, profiles.EgressRule{
				Host: "evil.example.com", Ports: []int{443}, Exception: "EXC-1", Expires: &time.Time{}})
			set.Agents["default"] = a
			sealed, _, err := set.Seal()
			h.must(err)
			h.push(envelope(h.t, second(h), &sealed, "ana", "bob"))
		}},
		{name: "an exception that a role of the roots approves", code: trust.CodeSet, says: "not a user, group or team", layers: []trust.Code{trust.CodeSet}, do: func(h *host) {
			h.push(both(second(h), h, "two", exception(trust.RolePolicy)))
		}},
		{name: "one signature of two", code: trust.CodeThreshold, says: "1 of 3", layers: []trust.Code{trust.CodeThreshold}, do: func(h *host) {
			h.push(envelope(h.t, second(h), setOf(h.t, "two"), "ana"))
		}},
		{name: "one key twice", code: trust.CodeThreshold, says: "1 of 3", layers: []trust.Code{trust.CodeThreshold}, do: func(h *host) {
			e := envelope(h.t, second(h), setOf(h.t, "two"), "ana")
			e.Signatures = append(e.Signatures, e.Signatures[0])
			h.push(e)
		}},
		{name: "one key under two names", code: trust.CodeThreshold, says: "1 of 3", layers: []trust.Code{trust.CodeThreshold}, do: func(h *host) {
			e := envelope(h.t, second(h), setOf(h.t, "two"), "ana")
			again := e.Signatures[0]
			again.KeyID = ""
			bob := e.Signatures[0]
			bob.KeyID = trust.KeyID(public("bob"))
			e.Signatures = append(e.Signatures, again, bob)
			h.push(e)
		}},
		{name: "one key and one of another role", code: trust.CodeThreshold, says: "1 of 3", layers: []trust.Code{trust.CodeThreshold}, do: func(h *host) {
			h.push(envelope(h.t, second(h), setOf(h.t, "two"), "ana", "sec"))
		}},
		{name: "one key and a wrong one", code: trust.CodeThreshold, layers: []trust.Code{trust.CodeThreshold}, do: func(h *host) {
			h.push(envelope(h.t, second(h), setOf(h.t, "two"), "ana", "eve"))
		}},
		{name: "an exception that nobody approved", code: trust.CodeException, says: "group:security@acme.example", layers: []trust.Code{trust.CodeException}, do: func(h *host) {
			h.push(both(second(h), h, "two", exception("group:security@acme.example")))
		}},
		{name: "an exception of an approver without keys", code: trust.CodeException, says: "no keys", layers: []trust.Code{trust.CodeException}, do: func(h *host) {
			h.push(envelope(h.t, second(h), setOf(h.t, "two",
				exception("group:security@acme.example", "team:ghost@acme.example")), "ana", "bob", "sec"))
		}},
		{name: "an exception without an approver", code: trust.CodeException, layers: []trust.Code{trust.CodeException}, do: func(h *host) {
			h.push(both(second(h), h, "two", exception()))
		}},
		{name: "expired", code: trust.CodeExpired, layers: []trust.Code{trust.CodeExpired}, do: func(h *host) {
			s := second(h)
			s.Expires = start
			h.push(both(s, h, "two"))
		}},
		{name: "issued in the future", code: trust.CodeClock, says: "future", later: true, layers: []trust.Code{trust.CodeClock}, do: func(h *host) {
			s := second(h)
			s.Issued = start.Add(trust.Skew + time.Second)
			h.push(both(s, h, "two"))
		}},
		{name: "the clock goes back", code: trust.CodeClock, says: "clock_back", later: true, layers: []trust.Code{trust.CodeClock}, do: func(h *host) {
			h.clock.Set(start.Add(-trust.Skew - time.Second))
			s := second(h)
			s.Issued = start.Add(-24 * time.Hour)
			h.push(both(s, h, "two"))
		}},
		{name: "a replay", code: trust.CodeReplayed, says: "sequence is 2, and 3", layers: []trust.Code{trust.CodeReplayed, trust.CodeRolledBack}, do: func(h *host) {
			old := both(second(h), h, "two")
			h.push(old)
			h.look()
			h.push(both(statement(3, revision(h, "two")), h, "one but not the same"))
			h.look()
			h.push(old)
		}},
		{name: "the first push again", code: trust.CodeReplayed, layers: []trust.Code{trust.CodeReplayed, trust.CodeRolledBack}, do: func(h *host) {
			h.push(both(second(h), h, "two"))
			h.look()
			h.push(both(statement(1, ""), h, "one"))
		}},
		{name: "two pushes with one sequence", code: trust.CodeEquivocated, layers: []trust.Code{trust.CodeEquivocated}, do: func(h *host) {
			h.push(both(second(h), h, "two"))
			h.look()
			h.push(both(second(h), h, "another two"))
		}},
		{name: "on top of another revision", code: trust.CodePrevious, says: "made on top of", layers: []trust.Code{trust.CodePrevious}, do: func(h *host) {
			h.push(both(statement(2, revision(h, "three")), h, "two"))
		}},
		{name: "on top of nothing", code: trust.CodePrevious, says: "on top of nothing", layers: []trust.Code{trust.CodePrevious}, do: func(h *host) {
			h.push(both(statement(2, ""), h, "two"))
		}},
		{name: "a rollback that does not say so", code: trust.CodeRolledBack, says: "ringd rollback", layers: []trust.Code{trust.CodeRolledBack}, do: func(h *host) {
			h.push(both(second(h), h, "two"))
			h.look()
			h.push(both(statement(3, revision(h, "two")), h, "one"))
		}},
		{name: "a folder replaced by an old one", code: trust.CodeReplayed, layers: []trust.Code{trust.CodeReplayed, trust.CodeRolledBack}, do: func(h *host) {
			h.push(both(second(h), h, "two"))
			h.look()
			old := filepath.Join(h.root, "old")
			h.must(os.Mkdir(old, 0o700))
			h.must(os.WriteFile(filepath.Join(old, trust.FileName), encoded(h.t, both(statement(1, ""), h, "one")),
				0o600))
			h.must(os.Rename(h.sync, filepath.Join(h.root, "gone")))
			h.must(os.Rename(old, h.sync))
		}},
		{name: "a folder replaced by a link to an old one inside", code: trust.CodeReplayed, layers: []trust.Code{trust.CodeReplayed, trust.CodeRolledBack}, do: func(h *host) {
			h.push(both(second(h), h, "two"))
			h.look()
			h.must(os.Mkdir(filepath.Join(h.sync, "..data"), 0o700))
			h.put("..data/"+trust.FileName, encoded(h.t, both(statement(1, ""), h, "one")))
			h.remove(trust.FileName)
			h.must(os.Symlink("..data/"+trust.FileName, filepath.Join(h.sync, trust.FileName)))
		}},
	}
}

// swapped edits the set in a payload: its agent has another policy.
func swapped(h *host, payload []byte, policy string) []byte {
	h.t.Helper()
	var m map[string]any
	h.must(json.Unmarshal(payload, &m))
	raw, err := setOf(h.t, policy).Encode()
	h.must(err)
	m["set"] = json.RawMessage(raw)
	b, err := json.Marshal(m)
	h.must(err)
	out, err := profiles.Canonical(b)
	h.must(err)
	return out
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) remove(name string) { h.t.Helper(); h.must(os.Remove(filepath.Join(h.sync, name))) }

// closed waits until nothing is in force.
func (h *host) closed() wire.Status {
	h.t.Helper()
	for range 100 {
		if st := h.stack.Daemon.Status(h.t.Context()); st.Generation == 0 {
			return st
		}
		h.look()
	}
	h.t.Fatalf("still in force: %+v", h.stack.Daemon.Status(h.t.Context()))
	return wire.Status{}
}

// ready brings push 1 in force.
func (h *host) ready() wire.Status {
	h.t.Helper()
	h.up()
	h.push(envelope(h.t, statement(1, ""), setOf(h.t, "one"), "ana", "bob"))
	st := h.look()
	if st.Generation != 1 || st.Signed == nil || st.Signed.Sequence != 1 || len(st.Conditions) != 0 || h.run() != nil {
		h.t.Fatalf("push 1 is not in force: %+v, %v", st, h.run())
	}
	return st
}

// TestAttacks is the table of attacks on pushes, against a daemon, its store and a
// syncer on a folder. It only grows.
func TestAttacks(t *testing.T) {
	rows := attacks()
	if len(rows) < 30 {
		t.Errorf("%d rows", len(rows))
	}
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			h.ready()
			tt.do(h)
			in := h.stack.Daemon.Status(t.Context())
			st := h.look()
			if tt.beside {
				if f := st.LastPush.Findings; st.Revision != revision(h, "two") || st.Signed.Sequence != 2 ||
					len(st.Conditions) != 0 ||
					len(f) != 1 || f[0].Code != string(tt.code) || f[0].Severity != "warning" ||
					!strings.Contains(f[0].Message, tt.says) {
					t.Errorf("%+v, want what is signed and a warning of %s", st.LastPush, tt.says)
				}
				return
			}
			if st.LastPush == nil || st.LastPush.Result != wire.PushRejected || st.LastPush.Code != string(tt.code) {
				t.Fatalf("last push %+v, want %s", st.LastPush, tt.code)
			}
			if !strings.HasPrefix(st.LastPush.Message, string(tt.code)+": ") ||
				!strings.Contains(st.LastPush.Message, tt.says) {
				t.Errorf("message %q, want one of %s with %q", st.LastPush.Message, tt.code, tt.says)
			}
			if st.Generation != in.Generation || st.Revision != in.Revision {
				t.Errorf("generation %d, %s in force, want %d, %s", st.Generation, st.Revision, in.Generation,
					in.Revision)
			}
			if st.Closes == nil || !hasCondition(st, wire.ConditionPushRejected) {
				t.Errorf("status does not say that it closes: %+v", st)
			}
			recs := h.stack.Records(t, "push_rejected")
			if len(recs) == 0 || recs[len(recs)-1].Detail["code"] != string(tt.code) {
				t.Errorf("records %+v, want the last with %s", recs, tt.code)
			}
			h.clock.Set(start.Add(11 * time.Minute)) // above the staleness limit
			if tt.later {
				if st := h.look(); st.Generation != in.Generation+1 {
					t.Errorf("with the clock set right: %+v", st.LastPush)
				}
				return
			}
			h.closed()
			if h.run() == nil {
				t.Error("a program runs although the host is closed")
			}
		})
	}
}

// TestAttacksWithoutLayer is the same with the checks taken away that are to refuse:
// then the attack succeeds, so it is they that refuse. Where there is no check to take,
// what is wrong is mended.
func TestAttacksWithoutLayer(t *testing.T) {
	for _, tt := range attacks() {
		if tt.layers == nil && tt.mend == nil {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t)
			h.without, h.open = tt.layers, tt.open
			h.ready()
			tt.do(h)
			if tt.mend != nil {
				if st := h.look(); st.LastPush.Result != wire.PushRejected || st.Generation != 1 {
					t.Errorf("taken as it was: %+v", st.LastPush)
				}
				tt.mend(h)
			}
			// whose timer fires at once
			if st := h.look(); st.LastPush.Result == wire.PushRejected || st.Generation < 2 &&
				tt.code != trust.CodeExpired {
				t.Errorf("still refused: %+v", st.LastPush)
			}
		})
	}
}

func hasCondition(st wire.Status, code string) bool {
	for _, c := range st.Conditions {
		if c.Code == code {
			return true
		}
	}
	return false
}
