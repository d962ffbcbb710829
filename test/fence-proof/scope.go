package main

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dimension is one way in which pairs of a scope differ: which values, and what the number of a value sets.
type dimension struct {
	size int
	set  func(*pair, int)
}

// scope is every combination of its dimensions.
type scope struct {
	name       string
	dimensions []dimension
	// pairs where the values of the parts depend on each other.
	list []pair
}

func (s *scope) size() int {
	size := 1
	for _, each := range s.dimensions {
		size *= each.size
	}
	if s.list != nil {
		size *= len(s.list)
	}
	return size
}

// at is the pair of this number.
func (s *scope) at(number int) pair {
	var p pair
	if s.list != nil {
		p = s.list[number%len(s.list)]
		number /= len(s.list)
	}
	for _, each := range s.dimensions {
		each.set(&p, number%each.size)
		number /= each.size
	}
	return p
}

// over varies a part of one Node.
func over(at part, of side, values []choice) dimension {
	return dimension{len(values), func(p *pair, number int) { p.nodes[of][at] = values[number] }}
}

// twice varies a part of both Nodes, each by itself.
func twice(at part, values []choice) []dimension {
	return []dimension{over(at, oldSide, values), over(at, newSide, values)}
}

// together varies a part of both Nodes by these pairs, old and new.
func together(at part, values [][2]choice) dimension {
	return dimension{len(values), func(p *pair, number int) {
		p.nodes[oldSide][at], p.nodes[newSide][at] = values[number][0], values[number][1]
	}}
}

func requestsOf(values ...choice) dimension {
	return dimension{len(values), func(p *pair, number int) { p.request = values[number] }}
}

const (
	ownKey      = "gitpod.io/ws-daemon_ready_ns_default"
	deviceKey   = "device.rollcall.dev/coral"
	sharedKey   = "feature.node.kubernetes.io/pci-0300_10de.present"
	serviceKey  = "service.rollcall.dev/db"
	ruleKey     = "accelerators/edgetpu"
	plainKey    = "example.com/team"
	identityKey = "karpenter.sh/nodepool"
	poolKey     = "agentpool"
)

// kinds are keys of labels, one for each way in which the contract tells them apart, and others that look like them.
var kinds = []string{
	ownKey, deviceKey, sharedKey, serviceKey, ruleKey, plainKey, identityKey,
	"node-role.kubernetes.io/control-plane", "K8s.IO/x", "x.K8S.io/x", "notk8s.io/x", "team", "k8s.io", poolAnnotation,
	"readiness.k8s.io/db", "service.rollcall.dev.example/x", "fact.rollcall.dev/model", "worker.gardener.cloud/pool",
}

// different are those about which most laws say something else.
var different = kinds[:8]

func labelPath(key string) string      { return "f:metadata\tf:labels\tf:" + key }
func annotationPath(key string) string { return "f:metadata\tf:annotations\tf:" + key }

func listOf(ids ...string) string {
	slices.Sort(ids)
	text := []string{}
	for _, each := range slices.Compact(ids) {
		text = append(text, `"`+each+`":"x"`)
	}
	return "{" + strings.Join(text, ",") + "}"
}

// withList are annotations with lists of keys, and an earlier list; none where they are empty.
func withList(keys, pool, earlier string) keyed {
	result := keyed{}
	for name, text := range map[string]string{keysAnnotation: keys, poolAnnotation: pool, earlierLists[0]: earlier} {
		if text != "" {
			result[name] = text
		}
	}
	return result
}

func (u *universe) annotationsOf(all ...keyed) []choice {
	result := []choice{}
	for _, each := range all {
		number := u.addAnnotations(each)
		if !slices.Contains(result, number) {
			result = append(result, number)
		}
	}
	return result
}

// values of a label with this key, beside others: absent, true and another.
func (u *universe) valuesOf(beside keyed, keys ...string) []choice {
	all := []keyed{beside}
	for _, key := range keys {
		more := []keyed{}
		for _, each := range all {
			more = append(more, each)
			for _, value := range []string{"true", "theirs"} {
				next := keyed{key: value}
				for other, text := range each {
					next[other] = text
				}
				more = append(more, next)
			}
		}
		all = more
	}
	result := []choice{}
	for _, each := range all {
		result = append(result, u.addLabels(each))
	}
	return result
}

// labelScope is one key in every state, with every list and every ownership. Each is in a pool, or not.
func (u *universe) labelScope(key string, inPool bool, requests ...choice) *scope {
	id := "label:" + key
	beside := keyed{}
	name := "label " + key
	if inPool {
		beside[poolKey] = "gold"
		name += " in a pool"
	}
	before, after := []keyed{}, []keyed{}
	for _, pool := range []string{"", `["` + key + `"]`, "[ \"a\",\n\"" + key + `"`} {
		for _, keys := range []string{"", listOf(id), listOf("label:other"), `["` + id + `"`, "{}"} {
			before = append(before, withList(keys, pool, ""))
		}
		before = append(before, withList("", pool, `{"`+key+`":1}`))
		for _, keys := range []string{"", listOf(id), listOf("label:other"), `["` + id + `"`, `{ "` + id + `":"x"}`, `{"label:` + key + `":"x","label:` + key + `":"y"}`, `{"label:` + ownKey + `":"` + id + `"}`, `{"x":"` + id + `"}`} {
			after = append(after, withList(keys, pool, ""))
		}
	}
	values := u.valuesOf(beside, key)
	return &scope{name: name, dimensions: []dimension{
		over(labels, oldSide, values), over(labels, newSide, values),
		over(annotations, oldSide, u.annotationsOf(before...)), over(annotations, newSide, u.annotationsOf(after...)),
		together(fields, u.ownership(labelPath(key), labelPath("foreign"), false)), requestsOf(requests...),
	}}
}

// labelsScope is two keys side by side, each in every state.
func (u *universe) labelsScope(one, other string, requests ...choice) *scope {
	lists := []keyed{}
	for _, keys := range []string{"", listOf("label:" + one), listOf("label:" + other), listOf("label:"+one, "label:"+other)} {
		for _, pool := range []string{"", `["` + one + `"]`, `["` + other + `"]`, `["` + one + `","` + other + `"]`} {
			lists = append(lists, withList(keys, pool, ""))
		}
	}
	ownerships := append(u.ownership(labelPath(one), labelPath(other), true), u.ownership(labelPath(other), labelPath(one), true)...)
	return &scope{name: "labels " + one + " and " + other, dimensions: append(append(
		twice(labels, u.valuesOf(keyed{poolKey: "gold"}, one, other)), twice(annotations, u.annotationsOf(lists...))...),
		together(fields, ownerships), requestsOf(requests...))}
}

// annotationScope is annotations of each kind in every state.
func (u *universe) annotationScope(key string, requests ...choice) *scope {
	all := []keyed{{}}
	for _, name := range []string{key, "rollcall.dev/withdrawn-labels", earlierLists[1], "mine"} {
		more := []keyed{}
		for _, each := range all {
			for _, value := range []string{"", "true", "false"} {
				next := keyed{}
				for other, text := range each {
					next[other] = text
				}
				if value != "" {
					next[name] = value
				}
				more = append(more, next)
			}
		}
		all = more
	}
	return &scope{name: "annotation " + key, dimensions: append(twice(annotations, u.annotationsOf(all...)),
		together(fields, u.ownership(annotationPath(key), annotationPath("mine"), false)), requestsOf(requests...))}
}

func taint(key, value, effect string) []corev1.Taint {
	return []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}}
}

// taintScope is two keys of taints, each in every state, before or after one of another client.
func (u *universe) taintScope(one, other string, requests ...choice) *scope {
	foreign := taint("dedicated", "x", "NoSchedule")
	states := func(key string) [][]corev1.Taint {
		return [][]corev1.Taint{nil, taint(key, "true", "NoSchedule"), taint(key, "other", "NoSchedule"), taint(key, "", "PreferNoSchedule"), taint(key, "true", "NoExecute"),
			append(taint(key, "true", "NoSchedule"), taint(key, "true", "NoExecute")...)}
	}
	values := []choice{}
	for _, first := range states(one) {
		for _, second := range states(other) {
			for _, list := range [][]corev1.Taint{slices.Concat(first, foreign, second), slices.Concat(second, first)} {
				if number := u.addTaints(list); !slices.Contains(values, number) {
					values = append(values, number)
				}
			}
		}
	}
	lists := u.annotationsOf(keyed{}, withList(listOf("taint:"+one), "", ""), withList(listOf("taint:"+one, "taint:"+other), "", ""), withList(listOf("label:"+one), "", ""))
	olds := append(u.annotationsOf(withList("", "", `{"`+one+`":1}`)), lists...)
	return &scope{name: "taints " + one + " and " + other, dimensions: append(twice(taints, values),
		over(annotations, oldSide, olds), over(annotations, newSide, lists),
		together(fields, u.ownership("f:spec\tf:taints", labelPath("foreign"), true)), requestsOf(requests...))}
}

func condition(kind, status string) corev1.NodeCondition {
	return corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), LastTransitionTime: metav1.NewTime(firstHour), LastHeartbeatTime: metav1.NewTime(firstHour)}
}

// conditionScope is two types of conditions, each in every state, in both orders.
func (u *universe) conditionScope(one, other string, requests ...choice) *scope {
	values := []choice{}
	for _, first := range []string{"", "True", "False"} {
		for _, second := range []string{"", "True", "False"} {
			list := []corev1.NodeCondition{}
			if first != "" {
				list = append(list, condition(one, first))
			}
			if second != "" {
				list = append(list, condition(other, second))
			}
			turned := slices.Clone(list)
			slices.Reverse(turned)
			for _, each := range [][]corev1.NodeCondition{list, turned} {
				number := choice(0)
				if len(each) > 0 {
					number = u.addConditions(each)
				}
				if !slices.Contains(values, number) {
					values = append(values, number)
				}
			}
		}
	}
	lists := u.annotationsOf(keyed{}, withList(listOf("condition:"+one), "", ""), withList(listOf("condition:"+one, "condition:"+other), "", ""), withList(listOf("label:"+one), "", ""), withList("", "", `{"`+one+`":1}`))
	both := [][2]choice{}
	for _, before := range lists {
		for _, after := range []choice{before, lists[0], lists[1], lists[2]} {
			both = append(both, [2]choice{before, after})
		}
	}
	path := conditionPath(one)
	ownership := [][2]choice{}
	for _, paths := range [][]string{{path + "\t.", path + "\tf:status", path + "\tf:type"}, {path + "\tf:status"}} {
		ours := entry{manager: "rollcall", operation: "Apply", subresource: "status", paths: paths}
		theirs := entry{manager: "kubelet", operation: "Update", subresource: "status", at: 5, paths: paths}
		first := entry{manager: "before-first-apply", operation: "Update", subresource: "status", at: 5, paths: paths}
		states := [][]entry{nil, {ours}, {theirs}, {ours, theirs}, {first}, {theirs, first}}
		odd := ours
		odd.paths = append(slices.Clone(paths), path+"\tf:odd")
		foreign := theirs
		foreign.paths = append(slices.Clone(paths), conditionPath("Foreign")+"\t.")
		more := append(slices.Clone(states), []entry{odd}, []entry{odd, theirs}, []entry{foreign}, []entry{ours, foreign})
		for _, before := range states {
			for _, after := range more {
				ownership = append(ownership, [2]choice{u.addFields(before), u.addFields(after)})
			}
		}
	}
	return &scope{name: "conditions " + one + " and " + other, dimensions: append(twice(conditions, values),
		together(annotations, both), together(fields, ownership), requestsOf(requests...))}
}

// restScope is everything else of a Node that a request could change, by every request of every account.
func (u *universe) restScope(requests ...choice) *scope {
	changes := []option{
		{name: "finalizer", value: others{metadata: "finalizer"}, change: func(n *corev1.Node) { n.Finalizers = []string{"example.com/x"} }},
		{name: "owner", value: others{metadata: "owner"}, change: func(n *corev1.Node) {
			n.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "x"}}
		}},
		{name: "uid", value: others{metadata: "uid"}, change: func(n *corev1.Node) { n.UID = "another" }},
		{name: "name", value: others{metadata: "name"}, change: func(n *corev1.Node) { n.Name = "another" }},
		{name: "unschedulable", value: others{spec: "unschedulable"}, change: func(n *corev1.Node) { n.Spec.Unschedulable = true }},
		{name: "podCIDR", value: others{spec: "podCIDR"}, change: func(n *corev1.Node) { n.Spec.PodCIDR = "10.1.0.0/24" }},
		{name: "no podCIDR", value: others{spec: "no podCIDR"}, change: func(n *corev1.Node) { n.Spec.PodCIDR = "" }},
		{name: "phase", value: others{status: "phase"}, change: func(n *corev1.Node) { n.Status.Phase = corev1.NodeTerminated }},
		{name: "address", value: others{status: "address"}, change: func(n *corev1.Node) {
			n.Status.Addresses = []corev1.NodeAddress{{Type: "InternalIP", Address: "10.0.0.1"}}
		}},
		{name: "no phase", value: others{status: "no phase"}, change: func(n *corev1.Node) { n.Status.Phase = "" }},
	}
	values := []choice{0}
	for _, each := range changes {
		values = append(values, u.add(rest, each))
	}
	lists := u.annotationsOf(keyed{}, withList(listOf("condition:service.rollcall.dev/Db", "label:"+serviceKey), "", ""), keyed{"mine": "1"})
	ready := []choice{0, u.addConditions([]corev1.NodeCondition{condition("service.rollcall.dev/Db", "True")})}
	return &scope{name: "the rest", dimensions: append(append(append(append(
		twice(rest, values), twice(labels, append(u.valuesOf(keyed{}, serviceKey), u.addLabels(keyed{"foreign": "1"})))...),
		twice(annotations, lists)...), twice(conditions, ready)...), requestsOf(requests...))}
}

// scopes are all of them. A short run has those of one key each.
func (u *universe) scopes(short bool) []*scope {
	update := func(account, subresource string) choice {
		return u.addRequest(requestFacts{account, "UPDATE", subresource})
	}
	coordinator, uninstall, kubelet := accounts[0], accounts[1], "system:node:node"
	toNode, toStatus := update(coordinator, ""), update(coordinator, "status")
	some := []choice{toNode, toStatus, update(uninstall, ""), update(kubelet, "")}
	every := []choice{}
	for _, account := range []string{coordinator, uninstall, kubelet, "system:serviceaccount:other:rollcall-coordinator", "rollcall-coordinator"} {
		for _, operation := range []string{"CREATE", "UPDATE", "DELETE", "CONNECT"} {
			for _, subresource := range []string{"", "status", "proxy", "finalize"} {
				every = append(every, u.addRequest(requestFacts{account, operation, subresource}))
			}
		}
	}
	result := []*scope{u.restScope(every...)}
	for _, key := range kinds {
		requests := []choice{toNode}
		switch {
		case short && !slices.Contains([]string{deviceKey, serviceKey, ruleKey, plainKey}, key):
			continue
		case !short && slices.Contains([]string{ownKey, serviceKey, plainKey}, key):
			requests = some
		}
		result = append(result, u.labelScope(key, true, requests...))
		if !short {
			result = append(result, u.labelScope(key, false, requests...))
		}
	}
	for at, key := range []string{holds[1], holds[0], "rollcall.dev/scheduling-hint", "rollcall.dev/scale-down-hold"} {
		if short && at > 0 {
			break
		}
		result = append(result, u.annotationScope(key, toNode))
	}
	taintKeys := []string{ownTaints[0], serviceKey, startupTaint, "example.com/gpu", "readiness.k8s.io/db", "node.kubernetes.io/unreachable"}
	conditionKeys := []string{"service.rollcall.dev/Db", "Ready", "service.rollcall.dev/Other", "KernelDeadlock", `service.rollcall.dev/A"B`, "readiness.k8s.io/Db"}
	for at, one := range taintKeys {
		for after, other := range taintKeys[at+1:] {
			if !short || (after == 0 && at == 0) {
				result = append(result, u.taintScope(one, other, toNode))
			}
		}
	}
	for at, one := range conditionKeys {
		for _, step := range []int{1, 2} {
			if !short || (step == 1 && at == 0) {
				result = append(result, u.conditionScope(one, conditionKeys[(at+step)%len(conditionKeys)], toStatus, toNode))
			}
		}
	}
	if !short {
		for at, one := range different {
			for _, other := range different[at+1:] {
				result = append(result, u.labelsScope(one, other, toNode))
			}
		}
	}
	return result
}
