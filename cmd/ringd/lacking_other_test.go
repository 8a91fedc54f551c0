//go:build !linux

package main

// lackingMain is ringd, which has no guests on this system anyhow.
func lackingMain() { main() }
