package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
)

// mutant is a policy with one token of one expression changed.
type mutant struct {
	// Number of the slot in an evaluator.
	slot       int
	expression string
	what       string
	text       string
}

var token = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|&&|\|\||==|!=|<=|>=|[A-Za-z_][A-Za-z_0-9]*|[0-9]+|\.\?|\[\?|[^\s]`)

// swaps are tokens for which another is put.
var swaps = map[string][]string{
	"&&": {"||"}, "||": {"&&"}, "==": {"!="}, "!=": {"=="}, "<=": {"<", ">="}, ">=": {">", "<="}, "<": {"<="}, ">": {">="},
	"true": {"false"}, "false": {"true"}, "exists": {"all"}, "all": {"exists"}, "exists_one": {"exists"},
	"startsWith": {"endsWith"}, "endsWith": {"startsWith"}, "+": {}, "!": {""},
}

// mutantsOf are the changes of single tokens, and the removals of single operands, in a text.
func mutantsOf(text string) []mutant {
	found := token.FindAllStringIndex(text, -1)
	at := func(index int) string {
		if index < 0 || index >= len(found) {
			return ""
		}
		return text[found[index][0]:found[index][1]]
	}
	result := []mutant{}
	cut := func(from, to int, with, what string) {
		result = append(result, mutant{what: what, text: text[:from] + with + text[to:]})
	}
	around := func(index int) string {
		return text[max(0, found[index][0]-25):min(len(text), found[index][1]+25)]
	}
	// edge is the end of the operand beside a token, in the direction of the step.
	edge := func(index, step int, stops ...string) int {
		depth := 0
		for at2 := index + step; ; at2 += step {
			each := at(at2)
			opens, closes := slices.Contains([]string{"(", "[", "{", "[?"}, each), slices.Contains([]string{")", "]", "}"}, each)
			if step < 0 {
				opens, closes = closes, opens
			}
			switch {
			case each == "" || (closes && depth == 0) || (depth == 0 && slices.Contains(stops, each)):
				return at2 - step
			case opens:
				depth++
			case closes:
				depth--
			}
		}
	}
	for index, where := range found {
		each := at(index)
		for _, other := range swaps[each] {
			cut(where[0], where[1], other, each+" -> "+other+" at "+around(index))
		}
		switch {
		case each == "&&" || each == "||":
			stops := []string{"||", "?", ":", ","}
			if each == "&&" {
				stops = append(stops, "&&")
			}
			left, right := edge(index, -1, stops...), edge(index, 1, stops...)
			cut(found[left][0], found[index+1][0], "", "without the left of "+each+" at "+around(index))
			cut(found[index-1][1], found[right][1], "", "without the right of "+each+" at "+around(index))
		case each == "?":
			left := edge(index, -1, ",", "?", ":")
			cut(found[left][0], where[0], "true ", "always the first of ? at "+around(index))
			cut(found[left][0], where[0], "false ", "always the second of ? at "+around(index))
		case each[0] == '\'' || each[0] == '"':
			if len(each) > 2 {
				cut(where[1]-1, where[1]-1, "~", each+" changed")
			} else {
				cut(where[0]+1, where[0]+1, "~", "empty text changed at "+around(index))
			}
		case each[0] >= '0' && each[0] <= '9':
			cut(where[0], where[1], each+"1", each+" changed at "+around(index))
			if each != "0" {
				cut(where[0], where[1], "0", each+" -> 0 at "+around(index))
			}
		case at(index-1) == "." && at(index-2) == "variables":
			// The other state of the same.
			for _, pair := range [][2]string{{"labels", "oldLabels"}, {"annotations", "oldAnnotations"}, {"fields", "oldFields"}, {"ownFields", "oldOwnFields"}, {"othersFields", "oldOthersFields"}, {"taints", "oldTaints"}, {"conditions", "oldConditions"}, {"keyIds", "oldKeyIds"}, {"listed", "oldListed"}, {"node", "oldNode"}} {
				for side := range pair {
					if each == pair[side] {
						cut(where[0], where[1], pair[1-side], each+" -> "+pair[1-side]+" at "+around(index))
					}
				}
			}
		}
	}
	return result
}

// findMutants tells which mutants no pair of the scopes shows.
func findMutants(policy *validatingPolicy, u *universe, scopes []*scope, workers int) error {
	c, err := compile(policy)
	if err != nil {
		return err
	}
	all, invalid := []mutant{}, 0
	slot := 0
	for _, group := range [][]expression{c.variables, c.matches, c.validations} {
		for _, each := range group {
			for _, m := range mutantsOf(each.text) {
				m.slot, m.expression = slot, each.name
				all = append(all, m)
			}
			if strings.HasPrefix(each.name, "validation") {
				all = append(all, mutant{slot, each.name, "without the validation", "true"})
			}
			slot++
		}
	}
	fmt.Fprintf(os.Stderr, "%d mutants\n", len(all))
	var lock sync.Mutex
	var group sync.WaitGroup
	seen := 0
	survivors := []string{}
	queue := make(chan mutant)
	for range workers {
		group.Go(func() {
			own, err := compile(policy)
			if err != nil {
				panic(err)
			}
			w := newWitnesses(own, u, scopes)
			for m := range queue {
				var program cel.Program
				var err error
				if m.slot < len(own.variables) {
					program, err = own.compileVariable(own.variables[m.slot].name, m.text)
				} else {
					program, err = own.compileCondition(m.text)
				}
				killed := err == nil && w.show(m.slot, program)
				lock.Lock()
				switch {
				case err != nil:
					invalid++
				case killed:
					seen++
				default:
					survivors = append(survivors, m.expression+": "+m.what)
					fmt.Fprintf(os.Stderr, "no pair shows %s: %q\n", m.expression, m.what)
				}
				if done := seen + invalid + len(survivors); done%100 == 0 {
					fmt.Fprintf(os.Stderr, "%d of %d\n", done, len(all))
				}
				lock.Unlock()
			}
		})
	}
	for _, each := range all {
		queue <- each
	}
	close(queue)
	group.Wait()
	slices.Sort(survivors)
	for _, each := range survivors {
		fmt.Println(strings.ReplaceAll(each, "\n", " "))
	}
	fmt.Printf("%d mutants, of which %d do not compile: %d are shown by a pair, %d are not\n", len(all), invalid, seen, len(survivors))
	return nil
}

// witnesses are pairs by which mutants are shown: for each way through an expression, some that were met there.
type witnesses struct {
	evaluator *evaluator
	pairs     []pair
	verdicts  []bool
	// By slot: pairs in which the expression was evaluated anew.
	of [][]int
}

const (
	// The pairs that each scope is searched through for witnesses.
	searched = 3_000
	// Witnesses of each expression that the policy admits, and that it refuses.
	kept = 3_000
)

func newWitnesses(c *compiled, u *universe, scopes []*scope) *witnesses {
	w := &witnesses{evaluator: newEvaluator(c, u)}
	w.of = make([][]int, len(w.evaluator.slots))
	counts := make([][2]int, len(w.evaluator.slots))
	for _, s := range scopes {
		size := s.size()
		step := max(1, size/searched)
		// A step without a common divisor meets every value of each dimension.
		for gcd(step, size) != 1 {
			step++
		}
		for at, number := 0, 0; at < min(size, searched); at, number = at+1, (number+step)%size {
			w.look(s.at(number), at, counts)
		}
	}
	return w
}

// look keeps a pair, and those in which only one or two parts of the Node change as in it, where they are evaluated anew:
// most requests that the fence admits are such.
func (w *witnesses) look(of pair, at int, counts [][2]int) {
	for one := range parts {
		for other := one; other < parts; other++ {
			p := of
			for each := range parts {
				if each != one && each != other {
					p.nodes[newSide][each] = p.nodes[oldSide][each]
				}
			}
			w.keep(p, at, counts)
		}
	}
	w.keep(of, at, counts)
}

func (w *witnesses) keep(p pair, at int, counts [][2]int) {
	e := w.evaluator
	before := e.evaluations
	e.anew = e.anew[:0]
	admitted, _ := e.admitsAll(&p)
	if e.evaluations == before && (!admitted || at%16 != 0) {
		return
	}
	w.pairs = append(w.pairs, p)
	w.verdicts = append(w.verdicts, admitted)
	kind := map[bool]int{true: 1, false: 0}[admitted]
	for slot := range e.slots {
		if isAnew := slices.Contains(e.anew, slot); e.knownAt[slot] == e.now && (admitted || isAnew) && (isAnew || counts[slot][kind] < kept) {
			w.of[slot] = append(w.of[slot], len(w.pairs)-1)
			counts[slot][kind]++
		}
	}
}

func gcd(one, other int) int {
	for other != 0 {
		one, other = other, one%other
	}
	return one
}

// show tells whether a pair has another verdict with the program in the place of an expression.
func (w *witnesses) show(slot int, program cel.Program) bool {
	before := w.evaluator.slots[slot]
	defer func() { w.evaluator.slots[slot] = before }()
	w.evaluator.slots[slot] = slotOf(program)
	// What depends on it is found by its id: the same texts need the same ids.
	w.evaluator.slots[slot].ids = before.ids
	for _, at := range w.of[slot] {
		if admitted, _ := w.evaluator.admits(&w.pairs[at]); admitted != w.verdicts[at] {
			return true
		}
	}
	return false
}

func slotOf(program cel.Program) slot {
	return slot{program: program, root: &trie{}, ids: map[string]uint32{}}
}

// admitsAll evaluates all validations also where one refuses.
func (e *evaluator) admitsAll(p *pair) (bool, int) {
	admitted, which := e.admits(p)
	if which >= 0 && !admitted {
		for _, each := range e.validations {
			e.result(each)
		}
	}
	return admitted, which
}
