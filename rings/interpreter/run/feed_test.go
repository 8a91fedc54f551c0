package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAfter goes on from number 9, like a run whose life after its pause was undone by a
// crash: a reader has read up to 15 of that life.
func TestAfter(t *testing.T) {
	f := eventFeed{Last: 9}
	for range 2 {
		f.Add(Event{Kind: EventState})
	}
	for _, tc := range []struct {
		after   int64
		want    []int64
		dropped bool // the first of them
	}{
		{11, nil, false},
		{10, []int64{11}, false},
		{9, []int64{10, 11}, false},
		{3, []int64{9, 10, 11}, true},
		{-1, []int64{9, 10, 11}, true},
		{15, []int64{9, 10, 11}, true},
	} {
		var got []int64
		list := f.After(tc.after)
		for _, e := range list {
			got = append(got, e.Seq)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || len(list) > 0 && (list[0].Kind == EventDropped) != tc.dropped {
			t.Errorf("after %d: %v %s", tc.after, list, diff)
		}
	}
}
