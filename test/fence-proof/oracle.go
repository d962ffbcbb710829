package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The oracle: what the fence has to admit, written from the contract (SECURITY.md, "What each account may do", and
// "Fence" of packages/docs/how-to/policies.md), and not from the policy.

const (
	keysAnnotation = "rollcall.dev/keys"
	poolAnnotation = "nodepool.banzaicloud.io/managed-labels"
	startupTaint   = "startup-taint.cluster-autoscaler.kubernetes.io/rollcall"
)

var (
	accounts        = []string{"system:serviceaccount:rollcall:rollcall-coordinator", "system:serviceaccount:rollcall:rollcall-uninstall"}
	ownLabels       = []string{"gitpod.io/ws-daemon_ready_ns_default", "gitpod.io/registry-facade_ready_ns_default"}
	ownTaints       = []string{"gitpod.io/ws-daemon-not-ready", "gitpod.io/registry-facade-not-ready"}
	deviceLabels    = []string{"feature.node.kubernetes.io/usb-", "feature.node.kubernetes.io/pci-", "beta.devicetree.org/", "device.rollcall.dev/", "fact.rollcall.dev/"}
	ruleLabels      = []string{"accelerators/"}
	serviceLabels   = []string{"service.rollcall.dev/"}
	knownTaints     = []string{"startup-taint.cluster-autoscaler.kubernetes.io/", "status-taint.cluster-autoscaler.kubernetes.io/", "readiness.k8s.io/"}
	holds           = []string{"cluster-autoscaler.kubernetes.io/scale-down-disabled", "karpenter.sh/do-not-disrupt"}
	earlierLists    = []string{"rollcall.dev/service-keys", "rollcall.dev/implied-labels"}
	ownAnnotations  = append([]string{keysAnnotation, poolAnnotation, "rollcall.dev/services-started", "rollcall.dev/withdrawn-labels", "rollcall.dev/scheduling-hint"}, holds...)
	poolLabels      = []string{"nodepool.banzaicloud.io/name", "cloud.google.com/gke-nodepool", "agentpool", "node.banzaicloud.io/nodepool", "agent", "kubernetes.azure.com/agentpool", "eks.amazonaws.com/nodegroup", "karpenter.sh/nodepool"}
	identity        = append([]string{"alpha.eksctl.io/nodegroup-name", "doks.digitalocean.com/node-id", "doks.digitalocean.com/node-pool", "k8s.scaleway.com/pool", "karpenter.sh/provisioner-name", "lke.linode.com/pool-id", "worker.gardener.cloud/pool"}, poolLabels...)
	ofKubelet       = []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}
	conditionFields = []string{".", "f:type", "f:status", "f:reason", "f:message", "f:lastHeartbeatTime", "f:lastTransitionTime", "f:observedGeneration"}
	conditionType   = regexp.MustCompile(`^[A-Za-z0-9./_-]+$`)
)

func begins(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// inKubernetes: the key has a prefix that is one of the domains of Kubernetes, or below one.
func inKubernetes(key string) bool {
	prefix, _, has := strings.Cut(strings.ToLower(key), "/")
	return has && (prefix == "k8s.io" || prefix == "kubernetes.io" || strings.HasSuffix(prefix, ".k8s.io") || strings.HasSuffix(prefix, ".kubernetes.io"))
}

func reserved(key string) bool {
	return inKubernetes(key) || slices.Contains(identity, key) || key == poolAnnotation
}

// lists are the keys that the annotations of a Node list, as label:KEY and so on, and whether the list has its one spelling.
type lists struct {
	ids       map[string]bool
	pool      map[string]bool
	earlier   map[string]bool
	canonical bool
}

func isID(text string) bool {
	kind, _, has := strings.Cut(text, ":")
	return has && slices.Contains([]string{"label", "taint", "condition"}, kind)
}

func readLists(values keyed) lists {
	result := lists{ids: map[string]bool{}, pool: map[string]bool{}, earlier: map[string]bool{}}
	for _, each := range strings.Split(values[keysAnnotation], `"`) {
		if isID(each) {
			result.ids[each] = true
		}
	}
	noise := strings.NewReplacer("[", "", "]", "", `"`, "", " ", "", "\n", "")
	for _, each := range strings.Split(noise.Replace(values[poolAnnotation]), ",") {
		result.pool[each] = each != ""
	}
	for _, list := range earlierLists {
		for _, each := range strings.Split(values[list], `"`) {
			result.earlier[each] = true
		}
	}
	// Go writes maps in order, and without spaces.
	read := map[string]string{}
	text := values[keysAnnotation]
	if text == "" || json.Unmarshal([]byte(text), &read) == nil {
		again, _ := json.Marshal(read)
		result.canonical = text == "" || string(again) == text
	}
	// What reads as a key is one: no origin does.
	for id, origin := range read {
		result.canonical = result.canonical && isID(id) && !isID(origin)
	}
	return result
}

// view is what the oracle sees of a Node.
type view struct {
	labels, annotations keyed
	lists               *lists
	owners              *owners
	taints              []corev1.Taint
	conditions          []corev1.NodeCondition
	rest                others
}

func (u *universe) view(p *[parts]choice) view {
	at := func(which part) *option { return &u.parts[which][p[which]] }
	taints, _ := at(taints).value.([]corev1.Taint)
	conditions, _ := at(conditions).value.([]corev1.NodeCondition)
	return view{stringsOf(at(labels).value), stringsOf(at(annotations).value), &at(annotations).lists, &at(fields).owners, taints, conditions, at(rest).value.(others)}
}

// change is what a request does to a Node.
type change struct {
	before, after view
	isStatus      bool
}

// contractAdmits tells whether a request is one that the accounts may make, and else which law forbids it.
func contractAdmits(of requestFacts, before, after func() view) (bool, string) {
	if !slices.Contains(accounts, of.account) {
		return true, ""
	}
	if of.operation != "UPDATE" || (of.subresource != "" && of.subresource != "status") {
		return false, "operations"
	}
	c := change{before(), after(), of.subresource == "status"}
	for _, law := range []struct {
		name  string
		holds func() bool
	}{{"rest", c.restStays}, {"labels", c.labelsMay}, {"lists", c.listsMay}, {"annotations", c.annotationsMay}, {"taints", c.taintsMay}, {"conditions", c.conditionsMay}, {"others' fields", c.othersKeepFields}, {"own fields", c.ownFieldsMay}} {
		if !law.holds() {
			return false, law.name
		}
	}
	return true, ""
}

// A write to the status changes nothing but conditions; a write to the Node nothing of the rest of metadata and spec.
func (c change) restStays() bool {
	b, a := c.before.rest, c.after.rest
	return b.metadata == a.metadata && b.spec == a.spec && (!c.isStatus || (b.status == a.status &&
		equal(c.before.labels, c.after.labels) && equal(c.before.annotations, c.after.annotations)))
}

func equal(one, other keyed) bool {
	for key, value := range one {
		if found, has := other[key]; !has || found != value {
			return false
		}
	}
	return len(one) == len(other)
}

// label has what decides about a label.
type label struct {
	device, service, rule bool
	// Ours, or no client's; named by the lists before and after; a pool's.
	free, was, now, pool bool
}

func (c change) label(key string) label {
	_, wasThere := c.before.labels[key]
	path := "f:metadata\tf:labels\tf:" + key
	was, now := c.before.lists, c.after.lists
	inPool := slices.ContainsFunc(poolLabels, func(each string) bool { return c.before.labels[each] != "" })
	isKubernetes := inKubernetes(key) || slices.Contains(identity, key)
	result := label{
		device:  begins(key, deviceLabels),
		service: begins(key, serviceLabels) && !isKubernetes,
		free:    !wasThere || c.before.owners.alone(path),
		was:     was.ids["label:"+key] || was.earlier[key] || was.pool[key],
		now:     now.ids["label:"+key],
		pool:    now.pool[key] && inPool && !reserved(key),
	}
	result.rule = begins(key, ruleLabels) && !result.device && !isKubernetes
	return result
}

func (c change) labelsMay() bool {
	for key, value := range c.after.labels {
		old, wasThere := c.before.labels[key]
		if (wasThere && old == value) || slices.Contains(ownLabels, key) {
			continue
		}
		k := c.label(key)
		if !((k.device && k.now && k.free) ||
			(k.service && k.now && value == "true" && (k.was || k.free)) ||
			(k.rule && k.now && (k.was || k.free)) ||
			(k.pool && (k.was || k.free))) {
			return false
		}
	}
	for key, value := range c.before.labels {
		if _, stays := c.after.labels[key]; stays || slices.Contains(ownLabels, key) {
			continue
		}
		k := c.label(key)
		unowned := !c.before.owners.known["f:metadata\tf:labels\tf:"+key]
		switch {
		case k.device && (k.free || (k.was && unowned)):
		case k.service && value == "true":
		case !k.device && !reserved(key) && (k.free || k.was):
		default:
			return false
		}
	}
	return true
}

func (c change) listsMay() bool {
	was, now := c.before.lists, c.after.lists
	if c.before.annotations[keysAnnotation] != c.after.annotations[keysAnnotation] {
		if !now.canonical {
			return false
		}
		for id := range now.ids {
			if !was.ids[id] && !c.mayList(id) {
				return false
			}
		}
	}
	for key, isListed := range now.pool {
		k := c.label(key)
		if _, isThere := c.after.labels[key]; isListed && !was.pool[key] && !(isThere && k.pool && k.free) {
			return false
		}
	}
	return true
}

func (c change) mayList(id string) bool {
	kind, key, _ := strings.Cut(id, ":")
	if c.before.lists.earlier[key] {
		return true
	}
	switch kind {
	case "label":
		k := c.label(key)
		_, isThere := c.after.labels[key]
		// Others set labels of devices, too. One that no known client owns may be theirs, and be listed to remove it.
		device := k.device && (k.free || c.before.owners.known[labelPath(key)])
		return slices.Contains(ownLabels, key) || k.was || (isThere && (device || k.pool || (k.rule && k.free) ||
			(k.service && (k.free || c.before.labels[key] == "true"))))
	case "taint":
		return (slices.Contains(ownTaints, key) || isTaintOfService(key)) &&
			slices.ContainsFunc(c.after.taints, func(each corev1.Taint) bool { return each.Key == key })
	}
	return isConditionOfService(key) && !c.addedByOthers(key)
}

func (c change) annotationsMay() bool {
	for key, value := range c.after.annotations {
		if old, was := c.before.annotations[key]; (!was || old != value) && (!slices.Contains(ownAnnotations, key) || (slices.Contains(holds, key) && value != "true")) {
			return false
		}
	}
	for key := range c.before.annotations {
		path := "f:metadata\tf:annotations\tf:" + key
		if _, stays := c.after.annotations[key]; stays || slices.Contains(earlierLists, key) {
			continue
		}
		// A hold that another client set stays; the predecessor's is taken over.
		taken := c.before.owners.node[path] || !(c.before.owners.own[path] || c.before.owners.theirs[path])
		if !slices.Contains(ownAnnotations, key) || (slices.Contains(holds, key) && taken) {
			return false
		}
	}
	return true
}

func isTaintOfService(key string) bool {
	return key != startupTaint && (begins(key, serviceLabels) || begins(key, knownTaints))
}

func (c change) taintsMay() bool {
	kept := func(list []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(slices.Clone(list), func(each corev1.Taint) bool {
			gone := !slices.ContainsFunc(c.after.taints, func(other corev1.Taint) bool { return other.Key == each.Key })
			was := c.before.lists.ids["taint:"+each.Key] || c.before.lists.earlier[each.Key]
			return slices.Contains(ownTaints, each.Key) || isTaintOfService(each.Key) ||
				(gone && (each.Key == startupTaint || (was && (!inKubernetes(each.Key) || begins(each.Key, knownTaints)))))
		})
	}
	if !slices.Equal(kept(c.before.taints), kept(c.after.taints)) {
		return false
	}
	for _, each := range c.after.taints {
		if slices.Contains(c.before.taints, each) {
			continue
		}
		isOdd := slices.Contains(ownTaints, each.Key) && (each.Value != "true" || each.Effect != corev1.TaintEffectNoSchedule)
		if isOdd || each.Effect == corev1.TaintEffectNoExecute || !c.after.lists.ids["taint:"+each.Key] {
			return false
		}
	}
	return true
}

func isConditionOfService(kind string) bool {
	return begins(kind, serviceLabels) && conditionType.MatchString(kind)
}

const conditionsPath = "f:status\tf:conditions\t"

func conditionPath(kind string) string { return conditionsPath + `k:{"type":"` + kind + `"}` }

func (c change) addedByOthers(kind string) bool {
	return c.before.owners.known[conditionPath(kind)+"\t."]
}

func (c change) conditionsMay() bool {
	if !c.isStatus {
		return true
	}
	find := func(list []corev1.NodeCondition, kind string) *corev1.NodeCondition {
		at := slices.IndexFunc(list, func(each corev1.NodeCondition) bool { return string(each.Type) == kind })
		if at < 0 {
			return nil
		}
		return &list[at]
	}
	left, gone := []string{}, []string{}
	for _, each := range c.before.conditions {
		kind := string(each.Type)
		wasListed := c.before.lists.ids["condition:"+kind] || c.before.lists.earlier[kind]
		switch now := find(c.after.conditions, kind); {
		case now == nil && !((wasListed && !slices.Contains(ofKubelet, kind)) || (isConditionOfService(kind) && !c.addedByOthers(kind))):
			return false
		case now == nil:
			gone = append(gone, kind)
		default:
			left = append(left, kind)
		}
	}
	order := 0
	for _, each := range c.after.conditions {
		kind := string(each.Type)
		if was := find(c.before.conditions, kind); was == nil || *was != each {
			if !(isConditionOfService(kind) && c.before.lists.ids["condition:"+kind] && !c.addedByOthers(kind)) {
				return false
			}
		}
		// What is another's keeps its place among the others.
		if at := slices.Index(left, kind); at >= 0 && !isConditionOfService(kind) {
			if at < order {
				return false
			}
			order = at
		}
	}
	return true
}
