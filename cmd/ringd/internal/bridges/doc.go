// Package bridges owns the bridges that the host performs: a command of the operator, fetch, and shell
// scripts that a program requests. The operator configures a bridge, never a policy or a program.
//
// It refuses results that are too large, come too late, or are not valid values. The interpreter ring calls it
// after the call was decided and recorded.
package bridges
