package main

import (
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	corev1 "k8s.io/api/core/v1"
)

// The result of an expression is kept by what its evaluation read, in the order in which it was read: parts of both
// Nodes, the request, and variables. An evaluation that reads the same reads on in the same way, so the next reader of
// the same values needs none. What was read is noted while the API server's program runs; nothing is assumed of it.

// part is what is varied of a Node by itself.
type part int

const (
	labels part = iota
	annotations
	fields
	taints
	conditions
	rest
	parts
)

const (
	// Locations that can be read: the parts of the new and of the old Node, which of them are there, the request.
	presence        = int(parts)
	perSide         = 2 * int(parts)
	requestLocation = 2 * perSide
	variableBase    = requestLocation + 1
)

type side int

// choice is one value of a part. It is 0 where the part is absent.
type choice uint16

// pair is a request: which request, and both Nodes by the values of their parts.
type pair struct {
	request choice
	nodes   [2][parts]choice
}

const (
	newSide side = iota
	oldSide
)

// universe has the values by which pairs are numbered.
type universe struct {
	requests []request
	parts    [parts][]option
	byName   [parts]map[string]choice
	// Nodes without any of the parts but the rest, by its number.
	bare []*sorted
}

// option is a value of a part, as it is in a Node and as CEL sees it.
type option struct {
	name  string
	value any
	cel   ref.Val
	// What the oracle reads in annotations and managedFields.
	lists  lists
	owners owners
	// What the value is of the rest.
	change func(*corev1.Node)
}

type request struct {
	hasNew bool
	hasOld bool
	cel    ref.Val
	facts  requestFacts
}

type outcome struct {
	value ref.Val
	id    uint32
}

// trie is one read of an evaluation, or its end.
type trie struct {
	location int
	next     map[uint32]*trie
	end      *outcome
}

type slot struct {
	program cel.Program
	root    *trie
	ids     map[string]uint32
}

// evaluator evaluates the policy on one pair after the other. It is for one goroutine.
type evaluator struct {
	universe *universe
	current  pair
	slots    []slot
	byName   map[string]int
	// Validations and match conditions come after the variables.
	matches     []int
	validations []int
	known       []outcome
	knownAt     []uint64
	now         uint64
	reading     []*reads
	nodes       [2]*node
	evaluations uint64
	// Which slots were evaluated anew, for who asks.
	anew []int
}

type reads struct {
	locations []int
	ids       []uint32
	seen      map[int]bool
}

func newEvaluator(c *compiled, u *universe) *evaluator {
	e := &evaluator{universe: u, byName: map[string]int{}}
	add := func(each expression) int {
		e.slots = append(e.slots, slotOf(each.program))
		return len(e.slots) - 1
	}
	for _, each := range c.variables {
		e.byName[each.name] = add(each)
	}
	for _, each := range c.matches {
		e.matches = append(e.matches, add(each))
	}
	for _, each := range c.validations {
		e.validations = append(e.validations, add(each))
	}
	e.known = make([]outcome, len(e.slots))
	e.knownAt = make([]uint64, len(e.slots))
	for at := range e.nodes {
		e.nodes[at] = &node{evaluator: e, side: side(at)}
	}
	return e
}

// admits tells whether the policy admits the pair; else which validation refuses it first.
func (e *evaluator) admits(p *pair) (bool, int) {
	e.current = *p
	e.now++
	for at, each := range e.matches {
		if result := e.result(each).value; result != types.True {
			// An error refuses, since the policy says Fail.
			return result == types.False, -1 - at
		}
	}
	for at, each := range e.validations {
		if e.result(each).value != types.True {
			return false, at
		}
	}
	return true, 0
}

func (e *evaluator) result(at int) outcome {
	if e.knownAt[at] == e.now {
		return e.known[at]
	}
	found := e.lookUp(at)
	e.known[at], e.knownAt[at] = found, e.now
	return found
}

func (e *evaluator) lookUp(at int) outcome {
	step := e.slots[at].root
	for step != nil && step.end == nil {
		if step.next == nil {
			return e.evaluate(at)
		}
		step = step.next[e.idAt(step.location)]
	}
	if step == nil {
		return e.evaluate(at)
	}
	return *step.end
}

func (e *evaluator) evaluate(at int) outcome {
	e.evaluations++
	e.anew = append(e.anew[:min(len(e.anew), 200)], at)
	record := &reads{seen: map[int]bool{}}
	e.reading = append(e.reading, record)
	value, _, err := e.slots[at].program.Eval(e)
	e.reading = e.reading[:len(e.reading)-1]
	if err != nil {
		value = types.NewErr("%s", err.Error())
	}
	var text strings.Builder
	textOf(value, &text)
	ids := e.slots[at].ids
	id, isKnown := ids[text.String()]
	if !isKnown {
		id = uint32(len(ids))
		ids[text.String()] = id
	}
	end := &outcome{value, id}
	step := e.slots[at].root
	for index, location := range record.locations {
		if step.next == nil {
			step.location, step.next = location, map[uint32]*trie{}
		} else if step.location != location {
			panic("an evaluation read something else after it had read the same")
		}
		following := step.next[record.ids[index]]
		if following == nil {
			following = &trie{}
			step.next[record.ids[index]] = following
		}
		step = following
	}
	if step.next != nil {
		panic("an evaluation ended where it had read on")
	}
	step.end = end
	return *end
}

func (e *evaluator) idAt(location int) uint32 {
	switch {
	case location >= variableBase:
		return e.result(location - variableBase).id
	case location == requestLocation:
		return uint32(e.current.request)
	}
	at := location % perSide
	value := uint32(e.current.nodes[location/perSide][at%presence])
	if at < presence {
		return value
	}
	return min(value, 1)
}

func (e *evaluator) note(location int) {
	record := e.reading[len(e.reading)-1]
	if !record.seen[location] {
		record.seen[location] = true
		record.locations = append(record.locations, location)
		record.ids = append(record.ids, e.idAt(location))
	}
}

// ResolveName gives the programs what they know by name.
func (e *evaluator) ResolveName(name string) (any, bool) {
	switch name {
	case "object", "oldObject":
		at := newSide
		if name == "oldObject" {
			at = oldSide
		}
		e.note(requestLocation)
		of := e.universe.requests[e.current.request]
		if (at == newSide && of.hasNew) || (at == oldSide && of.hasOld) {
			return e.nodes[at], true
		}
		return types.NullValue, true
	case "request":
		e.note(requestLocation)
		return e.universe.requests[e.current.request].cel, true
	case "variables":
		return variableMap{e}, true
	case "namespaceObject":
		return types.NullValue, true
	}
	return nil, false
}

// Parent is asked for by CEL.
func (e *evaluator) Parent() interpreter.Activation { return nil }

// variableMap notes which variables an evaluation reads.
type variableMap struct{ evaluator *evaluator }

func (m variableMap) Find(key ref.Val) (ref.Val, bool) {
	at, isKnown := m.evaluator.byName[string(key.(types.String))]
	if !isKnown {
		return nil, false
	}
	value := m.evaluator.result(at).value
	m.evaluator.note(variableBase + at)
	return value, true
}
func (m variableMap) Get(key ref.Val) ref.Val {
	value, isFound := m.Find(key)
	if !isFound {
		return types.NewErr("no such key: %v", key)
	}
	return value
}
func (m variableMap) Contains(key ref.Val) ref.Val { _, is := m.Find(key); return types.Bool(is) }
func (variableMap) Iterator() traits.Iterator      { panic("variables are not iterated over") }
func (variableMap) Size() ref.Val                  { return types.Int(1) }
func (variableMap) Equal(ref.Val) ref.Val          { panic("variables are not compared") }
func (variableMap) ConvertToType(ref.Type) ref.Val { panic("not converted") }
func (variableMap) Type() ref.Type                 { return types.MapType }
func (variableMap) ConvertToNative(reflect.Type) (any, error) {
	panic("not converted")
}
func (variableMap) Value() any { panic("no value") }

// node is a Node of the current pair, or one of its maps, that notes which parts an evaluation reads.
type node struct {
	evaluator *evaluator
	side      side
	// Which map of the Node: none for the Node itself.
	inside string
}

var varied = map[string]map[string]part{
	"":         {},
	"metadata": {"labels": labels, "annotations": annotations, "managedFields": fields},
	"spec":     {"taints": taints},
	"status":   {"conditions": conditions},
}

func (n *node) location(at int) int { return int(n.side)*perSide + at }

// bare is the same map without the varied parts.
func (n *node) bare() traits.Mapper {
	n.evaluator.note(n.location(int(rest)))
	of := n.evaluator.universe.bare[n.evaluator.current.nodes[n.side][rest]]
	if n.inside == "" {
		return of
	}
	return of.Get(types.String(n.inside)).(traits.Mapper)
}

func (n *node) Find(key ref.Val) (ref.Val, bool) {
	name, isText := key.(types.String)
	if !isText {
		return nil, false
	}
	if _, isMap := varied[string(name)]; isMap && n.inside == "" && name != "" {
		return &node{n.evaluator, n.side, string(name)}, true
	}
	if at, isVaried := varied[n.inside][string(name)]; isVaried {
		n.evaluator.note(n.location(int(at)))
		of := n.evaluator.current.nodes[n.side][at]
		return n.evaluator.universe.parts[at][of].cel, of != 0
	}
	return n.bare().Find(key)
}

func (n *node) Get(key ref.Val) ref.Val {
	value, isFound := n.Find(key)
	if !isFound {
		return types.NewErr("no such key: %v", key)
	}
	return value
}

func (n *node) Contains(key ref.Val) ref.Val { _, is := n.Find(key); return types.Bool(is) }

// names are the keys that the map has now.
func (n *node) names() []ref.Val {
	names := append([]ref.Val{}, n.bare().(*sorted).keys...)
	for _, each := range []string{"annotations", "conditions", "labels", "managedFields", "taints"} {
		if at, isHere := varied[n.inside][each]; isHere {
			n.evaluator.note(n.location(presence + int(at)))
			if n.evaluator.current.nodes[n.side][at] != 0 {
				names = append(names, types.String(each))
			}
		}
	}
	return names
}

func (n *node) Iterator() traits.Iterator {
	return types.NewRefValList(types.DefaultTypeAdapter, n.names()).Iterator()
}
func (n *node) Size() ref.Val { return types.Int(len(n.names())) }

// Equal compares with the same map of the other Node.
func (n *node) Equal(other ref.Val) ref.Val {
	against, isMap := other.(traits.Mapper)
	if !isMap || n.Size() != against.Size() {
		return types.False
	}
	for _, name := range n.names() {
		value, isThere := against.Find(name)
		if !isThere || types.Equal(n.Get(name), value) != types.True {
			return types.False
		}
	}
	return types.True
}
func (n *node) ConvertToType(to ref.Type) ref.Val {
	if to == types.TypeType {
		return types.MapType
	}
	return types.NewErr("not converted")
}
func (*node) Type() ref.Type { return types.MapType }
func (*node) ConvertToNative(reflect.Type) (any, error) {
	panic("not converted")
}
func (*node) Value() any { panic("no value") }
