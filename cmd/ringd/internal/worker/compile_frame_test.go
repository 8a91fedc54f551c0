package worker // the wire is between the two halves of this package and is not exported

import (
	"bytes"
	"testing"

	"github.com/ringd/ringd/schema"
)

func encodedReply(t testing.TB, text string, req compileRequest) []byte {
	t.Helper()
	answer, set, err := (&compileServer{ctx: t.Context()}).compile(
		compileRequest{CompileRequest: CompileRequest{Sources: []schema.Source{{Name: "p.yaml", Data: []byte(text)}},
			DiagnosticsOnly: req.DiagnosticsOnly}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := encodeFrame(1, uint64(len(set)), answer)
	if err != nil {
		t.Fatal(err)
	}
	return append(out, set...)
}

// TestReplyIsVerified: an answer that is not whole, or holds more or less than
// was asked, is none.
func TestReplyIsVerified(t *testing.T) {
	good := encodedReply(t, "interpreter_ring: {allowed_imports: [pandas]}\n", compileRequest{})
	if got, err := decodeReply(good, compileRequest{}); err != nil || got.Set == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	refused := encodedReply(t, "interpreter_ring: {allowed_import: [pandas]}\n", compileRequest{})
	warning := bytes.Replace(refused, []byte(`"code":"unknown-field"`), []byte(`"code":"","severity":1 `), 1)
	if bytes.Equal(warning, refused) {
		t.Fatal("the attack changed nothing")
	}
	if got, err := decodeReply(warning, compileRequest{}); err == nil {
		t.Errorf("neither a set nor a refusal: %+v", got)
	}
	for name, b := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)-1], "cut header": good[:10], "longer": append(bytes.Clone(good), 0), "magic": append([]byte("X"), good[1:]...),
		"another set": bytes.Replace(good, []byte("pandas"), []byte("pandos"), 1),
	} {
		if got, err := decodeReply(b, compileRequest{}); err == nil && (got.Set != nil || !got.Diagnostics.Refused()) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if _, err := decodeReply(good, diagnose("", nil)); err == nil {
		t.Error("took a set that nobody asked for")
	}
}

func FuzzReply(f *testing.F) {
	f.Add(encodedReply(f, "interpreter_ring: {allowed_imports: [pandas]}\n", compileRequest{}))
	f.Add(encodedReply(f, "interpreter_ring: {allowed_import: [pandas]}\n", compileRequest{}))
	f.Add([]byte(frameMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeReply(b, compileRequest{})
		if err == nil && got.Set == nil && !got.Diagnostics.Refused() {
			t.Fatal("neither a set nor a refusal")
		}
	})
}

func TestFindingsAreBounded(t *testing.T) {
	found := make(schema.Diagnostics, maxFindings+10)
	for i := range found {
		found[i] = schema.Diagnostic{Severity: schema.Warning}
	}
	if got := boundFindings(found); len(got) != maxFindings+1 || !got.Refused() {
		t.Errorf("%d findings, refused %v", len(got), got.Refused())
	}
	if got := boundFindings(found[:3]); len(got) != 3 || got.Refused() {
		t.Errorf("got %v", got)
	}
}
