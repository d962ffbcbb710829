package main

import (
	"encoding/json"
	"sort"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/common"
)

// entry is one of managedFields. Its paths are written as in managedFields, with a tab between names.
type entry struct {
	manager, operation, subresource string
	// Second of the hour.
	at    int
	paths []string
}

type keyed = map[string]string

// others is what a request to a Node could change besides the varied parts, by a text for each map of it.
type others struct{ metadata, spec, status string }

var firstHour = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (e entry) fieldsV1() *metav1.FieldsV1 {
	root := map[string]any{}
	for _, path := range e.paths {
		at := root
		for _, name := range strings.Split(path, "\t") {
			if at[name] == nil {
				at[name] = map[string]any{}
			}
			at = at[name].(map[string]any)
		}
	}
	raw, err := json.Marshal(root)
	if err != nil {
		panic(err)
	}
	return &metav1.FieldsV1{Raw: raw}
}

func (e entry) managed() metav1.ManagedFieldsEntry {
	at := metav1.NewTime(firstHour.Add(time.Duration(e.at) * time.Second))
	return metav1.ManagedFieldsEntry{Manager: e.manager, Operation: metav1.ManagedFieldsOperationType(e.operation),
		APIVersion: "v1", Subresource: e.subresource, Time: &at, FieldsType: "FieldsV1", FieldsV1: e.fieldsV1()}
}

// object is the Node with these parts.
func (u *universe) object(p [parts]choice) *corev1.Node {
	node := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "uid", ResourceVersion: "7", CreationTimestamp: metav1.NewTime(firstHour)},
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24"},
		Status:     corev1.NodeStatus{Phase: corev1.NodeRunning},
	}
	value := func(at part) any { return u.parts[at][p[at]].value }
	for key, text := range stringsOf(value(labels)) {
		metav1.SetMetaDataLabel(&node.ObjectMeta, key, text)
	}
	for key, text := range stringsOf(value(annotations)) {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, text)
	}
	if entries, isThere := value(fields).([]entry); isThere {
		for _, each := range entries {
			node.ManagedFields = append(node.ManagedFields, each.managed())
		}
	}
	if list, isThere := value(taints).([]corev1.Taint); isThere {
		node.Spec.Taints = list
	}
	if list, isThere := value(conditions).([]corev1.NodeCondition); isThere {
		node.Status.Conditions = list
	}
	if change := u.parts[rest][p[rest]].change; change != nil {
		change(node)
	}
	return node
}

func newUniverse() *universe {
	u := &universe{}
	for at := range u.parts {
		u.parts[at] = []option{{name: "none"}}
		u.byName[at] = map[string]choice{}
	}
	u.parts[rest][0].value = others{}
	u.parts[annotations][0].lists = readLists(nil)
	u.parts[fields][0].owners = readOwners(nil)
	u.bare = []*sorted{copyOf(common.SchemalessTypedToVal(u.object([parts]choice{}))).(*sorted)}
	return u
}

func stringsOf(value any) keyed {
	of, _ := value.(keyed)
	return of
}

// add numbers a value of a part; the same name is the same value.
func (u *universe) add(at part, value option) choice {
	if value.name == "" || value.name == "none" {
		return 0
	}
	if known, isKnown := u.byName[at][value.name]; isKnown {
		return known
	}
	number := choice(len(u.parts[at]))
	u.byName[at][value.name] = number
	u.parts[at] = append(u.parts[at], value)
	var only [parts]choice
	only[at] = number
	whole := copyOf(common.SchemalessTypedToVal(u.object(only))).(*sorted)
	if at == rest {
		u.bare = append(u.bare, whole)
		return number
	}
	for inside, names := range varied {
		for name, which := range names {
			if which == at {
				found, isThere := whole.Get(types.String(inside)).(traits.Mapper).Find(types.String(name))
				if !isThere {
					panic("a value of a part is as good as none: " + value.name)
				}
				u.parts[at][number].cel = found
			}
		}
	}
	return number
}

func (u *universe) addLabels(values keyed) choice {
	return u.add(labels, option{name: nameOfKeyed(values), value: values})
}

func (u *universe) addAnnotations(values keyed) choice {
	return u.add(annotations, option{name: nameOfKeyed(values), value: values, lists: readLists(values)})
}

func nameOfKeyed(values keyed) string {
	names := []string{}
	for key, value := range values {
		names = append(names, key+"="+value)
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

func (u *universe) addFields(entries []entry) choice {
	names := []string{}
	for _, each := range entries {
		sort.Strings(each.paths)
		names = append(names, strings.Join([]string{each.manager, each.operation, each.subresource, time.Duration(each.at).String(), strings.Join(each.paths, " ")}, "|"))
	}
	return u.add(fields, option{name: strings.Join(names, "; "), value: entries, owners: readOwners(entries)})
}

func (u *universe) addTaints(list []corev1.Taint) choice {
	names := []string{}
	for _, each := range list {
		names = append(names, each.ToString())
	}
	return u.add(taints, option{name: strings.Join(names, " "), value: list})
}

func (u *universe) addConditions(list []corev1.NodeCondition) choice {
	names := []string{}
	for _, each := range list {
		names = append(names, string(each.Type)+"="+string(each.Status))
	}
	return u.add(conditions, option{name: strings.Join(names, " "), value: list})
}

// requestFacts are what the oracle knows of a request.
type requestFacts struct{ account, operation, subresource string }

func (u *universe) addRequest(facts requestFacts) choice {
	for at, each := range u.requests {
		if each.facts == facts {
			return choice(at)
		}
	}
	gvr := metav1.GroupVersionResource{Version: "v1", Resource: "nodes"}
	gvk := metav1.GroupVersionKind{Version: "v1", Kind: "Node"}
	isDryRun := false
	review := &admissionv1.AdmissionRequest{
		Kind: gvk, Resource: gvr, SubResource: facts.subresource, RequestKind: &gvk, RequestResource: &gvr,
		RequestSubResource: facts.subresource, Name: "node", Operation: admissionv1.Operation(facts.operation),
		UserInfo: authenticationv1.UserInfo{Username: facts.account}, DryRun: &isDryRun, Options: runtime.RawExtension{},
	}
	hasNew := facts.operation == "CREATE" || facts.operation == "UPDATE"
	hasOld := facts.operation == "DELETE" || facts.operation == "UPDATE"
	u.requests = append(u.requests, request{hasNew: hasNew, hasOld: hasOld, cel: copyOf(common.SchemalessTypedToVal(review)), facts: facts})
	return choice(len(u.requests) - 1)
}

// attributes are the request as the API server's admission gets it.
func (u *universe) attributes(p *pair) *admission.VersionedAttributes {
	of := u.requests[p.request]
	var object, old runtime.Object
	if of.hasNew {
		object = u.object(p.nodes[newSide])
	}
	if of.hasOld {
		old = u.object(p.nodes[oldSide])
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	plain := admission.NewAttributesRecord(object, old, kind, "", "node", schema.GroupVersionResource{Version: "v1", Resource: "nodes"},
		of.facts.subresource, admission.Operation(of.facts.operation), nil, false, &user.DefaultInfo{Name: of.facts.account})
	return &admission.VersionedAttributes{Attributes: plain, VersionedKind: kind,
		VersionedObject: admission.NewLazyObject(object), VersionedOldObject: admission.NewLazyObject(old)}
}
