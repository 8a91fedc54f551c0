// Package worker runs work on untrusted text in child processes that can be killed. A child is
// the same binary with a hidden subcommand. It has an empty environment, limits on processor
// time and memory, and no open file but its three pipes.
//
// A policy is compiled by a child of its own ([Compile]): evaluating CUE cannot be cancelled, and
// an 80-byte source can run forever. Scripts ([Scripts]) and conditions on calls ([Calls]) are
// short, so a pool of children answers them one after the other. Shell text of a few bytes can
// nest, double and repeat without end, and is parsed neither in the daemon nor in a command.
//
// Whatever the text does to a child, the caller gets an answer: the child's, or a finding or
// denial that names the limit that ended it. A child that cannot be limited is not started.
// cmd/ringd, the commands and the daemon start the children. The hidden subcommands call
// [CompileMain], [ScriptMain] and [CallsMain].
package worker
