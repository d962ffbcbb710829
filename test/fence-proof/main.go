// Compares the fence with its contract over every pair of Nodes of a small scope, by the API server's own CEL.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	file := flag.String("policy", "../../deploy/policies/fence.yaml", "file with the policy")
	short := flag.Bool("short", false, "one key at a time")
	workers := flag.Int("workers", 2, "threads")
	only := flag.String("only", "", "scopes whose names contain this text")
	most := flag.Int("most", 20, "differences that are shown for each scope")
	whole := flag.Int("reference", 2000, "pairs that the API server's validator judges as well, as a whole")
	sample := flag.Int("sample", 0, "pairs of each scope, chosen at random; 0: all")
	mutate := flag.Bool("mutants", false, "which changes of the policy no pair shows")
	flag.Parse()
	if err := run(*file, *short, *only, *workers, *most, *whole, *sample, *mutate); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string, short bool, only string, workers, most, whole, sample int, mutate bool) error {
	policy, err := readPolicy(file)
	if err != nil {
		return err
	}
	u := newUniverse()
	scopes := u.scopes(short)
	chosen := []*scope{}
	for _, each := range scopes {
		if strings.Contains(each.name, only) {
			chosen = append(chosen, each)
		}
	}
	if mutate {
		return findMutants(policy, u, chosen, workers)
	}
	began := time.Now()
	differences, total, admitted, evaluations := 0, 0, 0, uint64(0)
	evaluators := make([]*evaluator, workers)
	for at := range evaluators {
		c, err := compile(policy)
		if err != nil {
			return err
		}
		evaluators[at] = newEvaluator(c, u)
	}
	for _, each := range chosen {
		from := time.Now()
		outcome := compare(evaluators, u, each, most, sample)
		for _, text := range outcome.shown {
			fmt.Println(text)
		}
		fmt.Printf("%s: %d pairs, %d admitted, %d differences, %.1f s\n", each.name, outcome.pairs, outcome.admitted, outcome.differences, time.Since(from).Seconds())
		differences, total, admitted = differences+outcome.differences, total+outcome.pairs, admitted+outcome.admitted
	}
	for _, each := range evaluators {
		evaluations += each.evaluations
	}
	took := time.Since(began).Seconds()
	wrong, err := judgeByReference(policy, evaluators[0], u, chosen, whole)
	if err != nil {
		return err
	}
	fmt.Printf("%d pairs, %d admitted, in %.0f s (%.0f a second): %d differences; %d evaluations of expressions; %d pairs judged by the whole validator: %d differences\n",
		total, admitted, took, float64(total)/took, differences, evaluations, whole, wrong)
	if differences+wrong > 0 || admitted == 0 {
		return fmt.Errorf("the fence is not what the contract says")
	}
	return nil
}

type comparison struct {
	pairs, admitted, differences int
	shown                        []string
}

const chunk = 4096

func compare(evaluators []*evaluator, u *universe, s *scope, most, sample int) comparison {
	var next atomic.Int64
	var lock sync.Mutex
	var workers sync.WaitGroup
	size := s.size()
	count := size
	if sample > 0 {
		count = min(size, sample)
	}
	result := comparison{}
	kinds := map[string]int{}
	for _, e := range evaluators {
		workers.Go(func() {
			mine := comparison{}
			for {
				from := int(next.Add(chunk)) - chunk
				if from >= count {
					break
				}
				for at := from; at < min(from+chunk, count); at++ {
					number := at
					if count < size {
						number = rand.Intn(size)
					}
					p := s.at(number)
					got, which := e.admits(&p)
					want, law := u.contract(&p)
					mine.pairs++
					if got {
						mine.admitted++
					}
					if got != want {
						mine.differences++
						lock.Lock()
						kind := fmt.Sprintf("%v %d %s", got, which, law)
						if kinds[kind]++; kinds[kind] <= 2 && len(result.shown) < most {
							result.shown = append(result.shown, u.describe(&p, got, which, law))
						}
						lock.Unlock()
					}
				}
			}
			lock.Lock()
			defer lock.Unlock()
			result.pairs += mine.pairs
			result.admitted += mine.admitted
			result.differences += mine.differences
		})
	}
	workers.Wait()
	return result
}

// contract is what the oracle says of a pair.
func (u *universe) contract(p *pair) (bool, string) {
	return contractAdmits(u.requests[p.request].facts,
		func() view { return u.view(&p.nodes[oldSide]) }, func() view { return u.view(&p.nodes[newSide]) })
}

func (u *universe) describe(p *pair, got bool, which int, law string) string {
	var out strings.Builder
	if got {
		fmt.Fprintf(&out, "DIFFERENCE: admitted, which the law of %s forbids\n", law)
	} else {
		fmt.Fprintf(&out, "DIFFERENCE: refused by validation %d, which the contract admits\n", which)
	}
	fmt.Fprintf(&out, "  %+v\n", u.requests[p.request].facts)
	for at, name := range []string{"labels", "annotations", "managedFields", "taints", "conditions", "rest"} {
		before, after := u.parts[at][p.nodes[oldSide][at]].name, u.parts[at][p.nodes[newSide][at]].name
		if before != "none" || after != "none" {
			fmt.Fprintf(&out, "  %s: %q\n    -> %q\n", name, before, after)
		}
	}
	return out.String()
}

// judgeByReference has random pairs judged by the API server's validator, which keeps nothing from one to the next.
func judgeByReference(policy *validatingPolicy, e *evaluator, u *universe, scopes []*scope, count int) (int, error) {
	r, err := newReference(policy)
	if err != nil {
		return 0, err
	}
	random := rand.New(rand.NewSource(1))
	wrong, passed := 0, 0
	for at := 0; at < count; {
		s := scopes[random.Intn(len(scopes))]
		p := s.at(random.Intn(s.size()))
		got, which := e.admits(&p)
		// Most are refused: every tenth of those, and all that are admitted.
		if passed++; !got && passed%10 != 0 {
			continue
		}
		at++
		if want, why := r.admits(u.attributes(&p)); got != want {
			wrong++
			fmt.Printf("%s  the validator as a whole says %v: %s\n", u.describe(&p, got, which, ""), want, why)
		}
	}
	return wrong, nil
}
