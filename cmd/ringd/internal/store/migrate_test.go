package store_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringd/ringd/cmd/ringd/internal/store"
)

// createFormat1 puts a database of format 1, made by the ringd that wrote those, into
// the folder of cfg, and runs SQL on it.
func createFormat1(t *testing.T, cfg store.Config, query string) {
	t.Helper()
	f, err := os.Open("testdata/format1.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	image, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cfg.Dir, store.DBName)
	if err := errors.Join(os.MkdirAll(cfg.Dir, 0o700), os.WriteFile(path, image, 0o600)); err != nil {
		t.Fatal(err)
	}
	if query == "" {
		return
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), query)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// tables is the whole schema as the database tells it.
func tables(t *testing.T, s *store.Store) string {
	t.Helper()
	var out []string
	for _, table := range []string{"run", "call", "generation", "audit_head", "pause", "claim", "session", "sealed",
		"approval", "revoked"} {
		v, err := s.Ask(t.Context(), fmt.Sprintf(`select group_concat(c, x'0a') from (select name || ' ' || type || ' ' || "notnull" || ' ' ||
			coalesce(dflt_value, 'none') || ' ' || pk as c from pragma_table_info('%s') order by name)`, table))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, table+": "+v)
	}
	v, err := s.Ask(t.Context(),
		`select group_concat(sql, x'0a') from (select sql from sqlite_schema where type = 'index' and sql is not null order by name)`)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(out, v), "\n")
}

// TestMigrate: a database of format 1 comes out with the tables of a new one and
// everything that was in it.
func TestMigrate(t *testing.T) {
	cfg := config(t)
	createFormat1(t, cfg, "")
	if h, err := store.ReadAuditHead(t.Context(), cfg.Dir); err != nil || h != (store.Head{Seq: 41, Hash: "ee"}) {
		t.Errorf("the head beside it: %+v, %v", h, err)
	}
	s := mustOpen(t, cfg)
	if diff := cmp.Diff(tables(t, mustOpen(t, config(t))), tables(t, s)); diff != "" {
		t.Errorf("not the tables of a new database: %s", diff)
	}
	for id, want := range map[string]store.State{"done": store.Done, "failed": store.Failed, "waiting": store.CallOpen,
		"executing": store.CallOpen, "paused": store.Paused, "asked": store.Asked} {
		if r := getRun(t, s, id); r.State != want || r.Agent != "default" || r.Generation != 4 || r.Seq != 0 ||
			r.Session != "" {
			t.Errorf("%+v, want it %s", r, want)
		}
	}
	if r := getRun(t, s, "done"); string(r.Outcome) != `{"value":1}` {
		t.Errorf("outcome %s", r.Outcome)
	}
	calls := getCalls(t, s, "waiting")
	if len(calls) != 2 || calls[0].Needs != 1 || calls[0].Acts != store.ByHost || calls[0].Verdict != "" ||
		string(calls[1].Reply) != "yes" {
		t.Errorf("%+v", calls)
	}
	if c := getCalls(t, s, "done")[0]; string(c.Result) != `"ok"` || c.Key != store.Key("done", "c1", "sha256:aa") ||
		c.Audit.Seq != 9 {
		t.Errorf("%+v", c)
	}
	if g, err := s.LastGeneration(t.Context()); err != nil || g.Number != 7 {
		t.Errorf("%+v, %v", g, err)
	}
	if h, err := s.AuditHead(t.Context()); err != nil || h.Seq != 41 {
		t.Errorf("%+v, %v", h, err)
	}
	// A restart with it is what it would have been, and it takes pauses.
	list, err := s.Recover(t.Context())
	if err != nil || len(list) != 4 {
		t.Errorf("recovered %+v, %v", list, err)
	}
	reach(t, s, "new", store.Executing)
	mustClose(t, s)
	s = mustOpen(t, cfg)
	if v, err := s.Ask(t.Context(), "pragma user_version"); err != nil || v != "2" {
		t.Errorf("format %s, %v", v, err)
	}
	if ok, err := s.Ask(t.Context(), "pragma integrity_check"); err != nil || ok != "ok" {
		t.Errorf("integrity %q, %v", ok, err)
	}
}

// TestMigrateRefused: what is not exactly format 1 is left as it is.
func TestMigrateRefused(t *testing.T) {
	for name, query := range map[string]string{
		"a table of its own":     "create table diary (day text)",
		"a table of format 2":    "create table pause (run text)",
		"an index less":          "drop index run_live",
		"a column more":          "alter table run add column mood text",
		"a column less":          "alter table call drop column fence",
		"a trigger":              "create trigger t after insert on run begin delete from call; end",
		"a record of version 2":  "update call set v = 2 where run = 'done'",
		"a run of version 0":     "update run set v = 0 where id = 'done'",
		"format 0 with tables":   "pragma user_version = 0",
		"a format below":         "pragma user_version = -1",
		"another program's mark": "pragma application_id = 7",
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t)
			createFormat1(t, cfg, query)
			path := filepath.Join(cfg.Dir, store.DBName)
			s, err := store.Open(t.Context(), cfg)
			if err == nil {
				_ = s.Close()
				t.Fatal("opened")
			}
			if !errors.Is(err, store.ErrFormat) || !strings.Contains(err.Error(), "move") &&
				!strings.Contains(err.Error(), "start the ringd") {
				t.Errorf("error %v, want ErrFormat and a remedy", err)
			}
			db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var n int
			if err := db.QueryRowContext(t.Context(), "select count(*) from pragma_table_info('run') where name = "+
				"'snap_digest'").Scan(&n); err != nil || n != 1 {
				t.Errorf("it was changed on the way: %d, %v", n, err)
			}
		})
	}
}

// TestMigrateNotBegun: a start that is given up leaves format 1, and the next one
// finds it so.
func TestMigrateNotBegun(t *testing.T) {
	cfg := config(t)
	createFormat1(t, cfg, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := store.Open(ctx, cfg); err == nil {
		_ = s.Close()
		t.Fatal("opened with a context that had ended")
	}
	before, err := os.ReadFile(filepath.Join(cfg.Dir, store.DBName))
	if err != nil || !bytes.Contains(before, []byte("snap_digest")) {
		t.Fatalf("not format 1 any more: %v", err)
	}
	s := mustOpen(t, cfg)
	if r := getRun(t, s, "done"); r.State != store.Done {
		t.Errorf("%+v", r)
	}
}
