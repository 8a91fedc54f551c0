// Package audit owns the host's record of requests, decisions and acts: an append-only log of JSON lines,
// chained by hash and signed by the host.
//
// The daemon writes every record before the act it is about. If a record cannot be written, nothing may run:
// after a failed write or sync every later Append fails until the log is reopened.
//
// The log refuses records of an unknown kind, records that are too large, a folder that other users can
// write, a folder that another process holds, and an invalid chain. It never stores argument values unless
// the caller passes them in Record.Full. Commands read a log with Verify, Query and Tail, which need no lock
// and no key.
//
// # Format
//
// A folder holds segments audit-00000001.jsonl, audit-00000002.jsonl, … Each starts with a header line.
// Record lines and commit lines follow:
//
//	{"v":1,"n":1,"s":1,"p":"<64 hex>","k":"<64 hex>"}
//	{"s":1,"p":"<32 hex>","r":{…record…}}
//	{"c":1,"h":"<64 hex>","b":412,"sig":"<base64>"}
//
// The hash of a line is SHA-256 of its bytes without the newline. "p" of a record is the first 16 bytes of
// the hash of the previous line of any kind. "p" of a header is the whole hash of the last line of the
// previous segment, zero in the first segment. "n" is the segment's number, "s" the sequence of its first
// record, "k" the host's public key. A commit line ends what one sync made durable: "c" is the last record's
// sequence, "h" its hash, "b" the bytes of record lines since the previous line that was not a record. "sig"
// is optional and signs the line up to the comma before it.
package audit
