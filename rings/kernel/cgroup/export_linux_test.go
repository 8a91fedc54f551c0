package cgroup

// SetMkdir has a tree make its groups otherwise: ordinary folders have not the
// files that the kernel puts there.
func SetMkdir(t *Tree, mkdir func(path string) error) { t.mkdir = mkdir }
