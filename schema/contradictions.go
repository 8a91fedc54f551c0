package schema

// disagreements reports errors that involve several fields: the same item granted and denied, and fields that
// exclude each other.
func (c *checker) disagreements(doc *node, compact bool) {
	if compact {
		ring := doc.get("interpreter_ring")
		c.overlap(ring.get("allowed_imports"), ring.get("denied_imports"), "", at("interpreter_ring", "denied_imports"))
		c.overlap(ring.get("allowed_imports"), ring.get("denied_process"), "", at("interpreter_ring", "denied_process"))
		return
	}
	spec := doc.get("spec")
	executors := spec.get("executors")
	for _, language := range []string{"js", "python"} {
		imports := executors.get(language).get("imports")
		c.overlap(imports.get("allow"), imports.get("deny"), "", at("spec", "executors", language, "imports", "deny"))
	}
	python := executors.get("python")
	c.overlap(python.get("imports").get("allow"), python.get("imports").get("denyProcess"), "",
		at("spec", "executors", "python", "imports", "denyProcess"))
	files := spec.get("filesystem")
	c.overlap(files.get("read"), files.get("deny"), "", at("spec", "filesystem", "deny"))
	c.overlap(files.get("write"), files.get("deny"), "", at("spec", "filesystem", "deny"))
	network := spec.get("network")
	c.overlap(network.get("egress"), network.get("deny"), "host", at("spec", "network", "deny"))
	c.modules(spec.get("modules"))
}

func at(names ...string) *place {
	var p *place
	for _, name := range names {
		p = &place{up: p, name: name}
	}
	return p
}

// overlap warns of denied items that are also allowed. by is the field of an allowed item that is compared
// with the denied item. If by is empty, the allowed item itself is compared.
func (c *checker) overlap(allow, deny *node, by string, p *place) {
	allowed := map[string]*node{}
	for _, item := range allow.list() {
		if by != "" {
			item = item.get(by)
		}
		if item != nil && item.kind == String {
			allowed[item.text] = item
		}
	}
	for i, item := range deny.list() {
		other := allowed[item.text]
		if item.kind != String || other == nil {
			continue
		}
		c.warn(item.at, other.at, CodeAllowAndDeny, &place{up: p, i: i}, "%q is also allowed on line %d; the deny wins",
			clip(item.text), other.at.line)
	}
}

// modules checks that each module has exactly one source.
func (c *checker) modules(modules *node) {
	if modules == nil || modules.kind != Object {
		return
	}
	for i, name := range modules.names {
		file, source := modules.items[i].get("file"), modules.items[i].get("source")
		p := at("spec", "modules", name)
		switch {
		case file != nil && source != nil:
			d := c.report(source.where(), CodeSchema, "keep one of them", p, "file and source exclude each other")
			d.Related = []Pos{c.pos(file.where())}
		case file == nil && source == nil && modules.items[i].kind == Object && len(modules.items[i].names) == 0:
			c.report(modules.items[i].where(), CodeMissing, "", p, "missing required field %q or %q", "file", "source")
		}
	}
}
