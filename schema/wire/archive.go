package wire

import "time"

// ArchiveOrder is the body of POST /v1/audit/archive: each segment of the audit log is
// archived whose records all have a sequence below Seq, or are all older than Time. At
// least one of Seq and Time must be given.
type ArchiveOrder struct {
	Seq  int64     `json:"seq,omitempty"`
	Time time.Time `json:"time,omitzero"`
}

// Archived is the answer of POST /v1/audit/archive.
type Archived struct {
	To    string         `json:"to"`    // folder
	Files []ArchivedFile `json:"files"` // the files that this request has archived
	Seq   int64          `json:"seq"`   // of the last record in Files; 0: there was nothing to archive
}

// ArchivedFile is one archived segment of the audit log.
type ArchivedFile struct {
	Name   string    `json:"name"`
	Digest string    `json:"digest"` // of the file
	Bytes  int64     `json:"bytes"`
	First  int64     `json:"first"` // sequences of its records
	Last   int64     `json:"last"`
	From   time.Time `json:"from"` // times of these two
	Until  time.Time `json:"until"`
}
