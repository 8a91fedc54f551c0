// Package run is one life of a run: from its start, or from a pause, to its end
// or to the next pause. It admits every call of the program, has it decided,
// recorded and performed, keeps what was asked of people or of the harness, and
// joins what the executor says of the end with what it knows itself.
//
// A run stops where it waits for nothing but people and the harness: the executor
// gives the snapshot, and the pause is recorded and committed before anybody sees
// it. From the moment it is asked to stop until then nothing is settled.
//
// A panic or an error on the way closes the run. The interpreter ring makes runs
// and knows which are live; nobody else calls this package.
package run
