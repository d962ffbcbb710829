package main

import (
	"slices"
	"strings"
)

// applied, updated and first are entries of managedFields.
func applied(manager string, paths ...string) entry {
	return entry{manager: manager, operation: "Apply", paths: paths}
}

func updated(manager string, paths ...string) entry {
	return entry{manager: manager, operation: "Update", at: 5, paths: paths}
}

// ownership has who may own a path before a request, and for each what a request may make of managedFields.
func (u *universe) ownership(path, other string, short bool) [][2]choice {
	ours, theirs, first, node := applied("rollcall", path), updated("person", path), updated("before-first-apply", path), updated("node-labeler", path)
	befores := [][]entry{nil, {ours}, {theirs}, {ours, theirs}, {first}, {node, ours}, {applied("rollcall", other), theirs}}
	if short {
		befores = befores[:4]
	}
	result := [][2]choice{}
	for _, before := range befores {
		seen := map[choice]bool{}
		for _, after := range forgeries(before, path, other, short) {
			number := u.addFields(after)
			if !seen[number] {
				seen[number] = true
				result = append(result, [2]choice{u.addFields(before), number})
			}
		}
	}
	return result
}

// forgeries are what a request, or the API server, may make of managedFields.
func forgeries(before []entry, path, other string, short bool) [][]entry {
	edit := func(change func([]entry) []entry) []entry {
		copied := []entry{}
		for _, each := range before {
			each.paths = slices.Clone(each.paths)
			copied = append(copied, each)
		}
		return change(copied)
	}
	each := func(isOurs bool, change func(*entry)) []entry {
		return edit(func(entries []entry) []entry {
			for at := range entries {
				if (entries[at].manager == "rollcall") == isOurs {
					change(&entries[at])
				}
			}
			return entries
		})
	}
	add := func(more ...entry) []entry {
		return edit(func(entries []entry) []entry { return append(entries, more...) })
	}
	without := func(isOurs bool) []entry {
		return edit(func(entries []entry) []entry {
			return slices.DeleteFunc(entries, func(of entry) bool { return (of.manager == "rollcall") == isOurs })
		})
	}
	gain := func(isOurs bool, paths ...string) []entry {
		return each(isOurs, func(of *entry) {
			for _, path := range paths {
				if !slices.Contains(of.paths, path) {
					of.paths = append(of.paths, path)
				}
			}
		})
	}
	lose := func(isOurs bool) []entry {
		return each(isOurs, func(of *entry) {
			of.paths = slices.DeleteFunc(of.paths, func(own string) bool { return own == path })
		})
	}
	hasOurs := slices.ContainsFunc(before, func(of entry) bool { return of.manager == "rollcall" })
	owning := gain(true, path)
	if !hasOurs {
		owning = add(applied("rollcall", path))
	}
	result := [][]entry{before, owning, without(false), lose(true)}
	if short {
		return result
	}
	parent := path[:strings.LastIndex(path, "\t")]
	return append(result,
		without(true), lose(false), gain(false, other), gain(false, path),
		each(false, func(of *entry) { of.at++ }), each(false, func(of *entry) { of.operation = "Apply" }),
		each(false, func(of *entry) { of.subresource = "status" }),
		add(updated("rollcall", path)), add(updated("rollcall", path), updated("rollcall", other)), add(applied("rollcall", path)),
		gain(true, other), gain(true, "f:spec\tf:taints"), gain(true, "f:spec\tf:podCIDR"), gain(true, "f:metadata\tf:finalizers"),
		gain(true, parent+"\t."), gain(true, path+"\tf:x"), gain(true, parent+"\tk:{\"a\":1}"),
		gain(false, parent+"\t."), gain(false, "f:spec\tf:taints"), gain(false, "f:metadata\tf:finalizers\tf:x"), gain(false, path+"\tf:x"),
		add(entry{manager: "rollcall", operation: "Forge", paths: []string{path}}),
		add(entry{manager: "rollcall", operation: "Update", subresource: "proxy", paths: []string{path}}),
		add(entry{manager: "rollcall", operation: "Update", subresource: "status", paths: []string{path}}),
		add(updated("stranger", path)), add(updated("stranger")),
		add(updated("before-first-apply", path)), add(updated("before-first-apply", other)),
		add(updated("before-first-apply", path), updated("stranger")),
	)
}
