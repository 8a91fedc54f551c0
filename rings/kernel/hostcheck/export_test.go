package hostcheck

// Names are all layers, in the order in which they are made.
func Names() []string {
	var out []string
	for _, l := range layers() {
		out = append(out, l.name)
	}
	return out
}
