package main

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The part of the oracle that is about managedFields.

// owners are the paths that field managers own: those of rollcall, of all others, and of others that are known.
type owners struct {
	own, theirs, known, node map[string]bool
	entries                  []entry
}

func readOwners(entries []entry) owners {
	result := owners{own: map[string]bool{}, theirs: map[string]bool{}, known: map[string]bool{}, node: map[string]bool{}, entries: entries}
	for _, each := range entries {
		for _, path := range each.paths {
			switch each.manager {
			case "rollcall":
				result.own[path] = true
			case "before-first-apply":
				result.theirs[path] = true
			default:
				result.theirs[path], result.known[path] = true, true
				result.node[path] = result.node[path] || each.manager != "node-labeler"
			}
			if each.manager == "before-first-apply" {
				result.node[path] = true
			}
		}
	}
	return result
}

func (o owners) alone(path string) bool { return o.own[path] && !o.theirs[path] }

// fieldChanged: the value at the path of managedFields is another after the request, or gone.
func (c change) fieldChanged(path string) bool {
	names := strings.Split(path, "\t")
	if len(names) < 3 {
		return path == "f:spec\tf:taints" && !slices.Equal(c.before.taints, c.after.taints)
	}
	key := strings.TrimPrefix(names[2], "f:")
	was, wasThere, now, isThere := "", false, "", false
	switch names[1] {
	case "f:labels":
		was, wasThere = c.before.labels[key]
		now, isThere = c.after.labels[key]
	case "f:annotations":
		was, wasThere = c.before.annotations[key]
		now, isThere = c.after.annotations[key]
	case "f:conditions":
		kind := strings.TrimSuffix(strings.TrimPrefix(names[2], `k:{"type":"`), `"}`)
		gone := !slices.ContainsFunc(c.after.conditions, func(each corev1.NodeCondition) bool { return string(each.Type) == kind })
		return c.isStatus && (begins(kind, serviceLabels) || gone)
	}
	return was != now || wasThere != isThere
}

func (e entry) is(other entry) bool {
	return e.manager == other.manager && e.operation == other.operation && e.subresource == other.subresource && e.at == other.at
}

// Entries of others keep what they have, but for what the request changed, and gain nothing.
func (c change) othersKeepFields() bool {
	pathsIn := func(of *owners, each entry) map[string]bool {
		found := map[string]bool{}
		for _, other := range of.entries {
			if other.is(each) {
				found["entry"] = true
				for _, path := range other.paths {
					found[path] = true
				}
			}
		}
		return found
	}
	number := 0
	for _, each := range c.before.owners.entries {
		now := pathsIn(c.after.owners, each)
		for _, path := range each.paths {
			if each.manager != "rollcall" && !now[path] && !strings.HasSuffix(path, "\t.") && !c.fieldChanged(parentOf(path)) {
				return false
			}
		}
	}
	for _, each := range c.after.owners.entries {
		if each.manager == "rollcall" {
			continue
		}
		number++
		was := pathsIn(c.before.owners, each)
		// The first apply to a Node without managedFields notes what is there.
		isFirst := each.manager == "before-first-apply" && each.operation == "Update" && each.subresource == "" && len(c.before.owners.entries) == 0
		if !was["entry"] && !isFirst {
			return false
		}
		for _, path := range each.paths {
			if !was[path] && !(isFirst && c.isThere(path)) {
				return false
			}
		}
	}
	return number <= 1 || len(c.before.owners.entries) > 0
}

// parentOf is the path of the label, annotation or condition in a path of managedFields.
func parentOf(path string) string {
	names := strings.Split(path, "\t")
	return strings.Join(names[:min(len(names), 3)], "\t")
}

// isThere: the Node has after the request what the path is about.
func (c change) isThere(path string) bool {
	names := strings.Split(path, "\t")
	if len(names) < 3 {
		return path == "f:spec\tf:podCIDR" || (path == "f:spec\tf:taints" && len(c.after.taints) > 0)
	}
	key := strings.TrimPrefix(names[2], "f:")
	_, isLabel := c.after.labels[key]
	_, isAnnotation := c.after.annotations[key]
	return names[2] == "." || (names[1] == "f:labels" && isLabel) || (names[1] == "f:annotations" && isAnnotation) ||
		(names[1] == "f:conditions" && slices.ContainsFunc(c.after.conditions, func(each corev1.NodeCondition) bool {
			return conditionPath(string(each.Type)) == parentOf(path)
		}))
}

// rollcall has one entry for each operation and subresource, which gains its own fields only, and those that are there.
func (c change) ownFieldsMay() bool {
	ours := func(of *owners) []entry {
		return slices.DeleteFunc(slices.Clone(of.entries), func(each entry) bool { return each.manager != "rollcall" })
	}
	was, now := ours(c.before.owners), ours(c.after.owners)
	if slices.EqualFunc(was, now, func(one, other entry) bool { return one.is(other) && slices.Equal(one.paths, other.paths) }) {
		return true
	}
	for at, each := range now {
		if (each.operation != "Apply" && each.operation != "Update") || (each.subresource != "" && each.subresource != "status") ||
			slices.ContainsFunc(now[at+1:], func(other entry) bool {
				return other.operation == each.operation && other.subresource == each.subresource
			}) {
			return false
		}
		for _, path := range each.paths {
			if !c.before.owners.own[path] && !c.mayOwn(path) {
				return false
			}
		}
	}
	return true
}

func (c change) mayOwn(path string) bool {
	names := strings.Split(path, "\t")
	if path == "f:spec\tf:taints" || (len(names) == 3 && names[2] == "." && slices.Contains([]string{"f:labels", "f:annotations", "f:conditions"}, names[1])) {
		return true
	}
	if len(names) < 3 || !c.isThere(path) || (len(names) > 3 && names[1] != "f:conditions") || names[2][:2] != map[bool]string{true: "k:", false: "f:"}[names[1] == "f:conditions"] {
		return false
	}
	key := strings.TrimPrefix(names[2], "f:")
	switch names[1] {
	case "f:labels":
		k := c.label(key)
		return slices.Contains(ownLabels, key) || ((k.device || k.service || k.rule) && k.now) || k.pool
	case "f:annotations":
		return slices.Contains(ownAnnotations, key) || slices.Contains(earlierLists, key)
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(names[2], `k:{"type":"`), `"}`)
	return begins(kind, serviceLabels) && !c.addedByOthers(kind) &&
		(len(names) == 3 || (len(names) == 4 && slices.Contains(conditionFields, names[3])))
}
