package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// readPolicy returns the policy in a file whose last document is its binding.
func readPolicy(file string) (*validatingPolicy, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	policy := &validatingPolicy{}
	for _, document := range splitDocuments(string(text)) {
		candidate := &validatingPolicy{}
		if err := yaml.Unmarshal([]byte(document), candidate); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if candidate.Kind == "ValidatingAdmissionPolicy" {
			policy = candidate
		}
	}
	if len(policy.Spec.Validations) == 0 {
		return nil, fmt.Errorf("%s has no ValidatingAdmissionPolicy with validations", file)
	}
	return policy, nil
}

// expression is one of the policy: a variable, or a condition that has to be true.
type expression struct {
	name    string
	text    string
	program cel.Program
}

// compiled has the expressions of a policy, each compiled as the API server compiles it.
type compiled struct {
	variables   []expression
	matches     []expression
	validations []expression
	compiler    *plugin.CompositedCompiler
	options     plugin.OptionalVariableDeclarations
}

var baseEnvironment = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())

func compile(policy *validatingPolicy) (*compiled, error) {
	compiler, err := plugin.NewCompositedCompiler(baseEnvironment)
	if err != nil {
		return nil, err
	}
	result := &compiled{compiler: compiler, options: plugin.OptionalVariableDeclarations{HasAuthorizer: true}}
	for _, each := range policy.Spec.Variables {
		variable := named{each.Name, accessor{each.Expression, cel.AnyType}}
		outcome := compiler.CompileAndStoreVariable(variable, result.options, environment.StoredExpressions)
		if outcome.Error != nil {
			return nil, fmt.Errorf("variable %s: %w", each.Name, outcome.Error)
		}
		result.variables = append(result.variables, expression{each.Name, each.Expression, outcome.Program})
	}
	for _, each := range policy.Spec.MatchConditions {
		program, err := result.compileCondition(each.Expression)
		if err != nil {
			return nil, fmt.Errorf("match condition %s: %w", each.Name, err)
		}
		result.matches = append(result.matches, expression{"match " + each.Name, each.Expression, program})
	}
	for at, each := range policy.Spec.Validations {
		program, err := result.compileCondition(each.Expression)
		if err != nil {
			return nil, fmt.Errorf("validation %d: %w", at, err)
		}
		result.validations = append(result.validations, expression{fmt.Sprintf("validation %d", at), each.Expression, program})
	}
	return result, nil
}

// condition compiles an expression that has to be true or false.
func (c *compiled) compileCondition(text string) (cel.Program, error) {
	outcome := c.compiler.CompileCELExpression(accessor{text, cel.BoolType}, c.options, environment.StoredExpressions)
	if outcome.Error != nil {
		return nil, outcome.Error
	}
	return outcome.Program, nil
}

// variable compiles another text of a variable.
func (c *compiled) compileVariable(name, text string) (cel.Program, error) {
	outcome := c.compiler.CompileCELExpression(named{name, accessor{text, cel.AnyType}}, c.options, environment.StoredExpressions)
	if outcome.Error != nil {
		return nil, outcome.Error
	}
	return outcome.Program, nil
}

// accessor is an expression as the API server's compiler takes it, and its type.
type accessor struct {
	text string
	of   *cel.Type
}

func (c accessor) GetExpression() string    { return c.text }
func (c accessor) ReturnTypes() []*cel.Type { return []*cel.Type{c.of} }

type named struct {
	name string
	accessor
}

func (n named) GetName() string { return n.name }

// reference is the API server's own evaluation of the whole policy, with nothing kept between requests.
type reference struct {
	matcher     matchconditions.Matcher
	validations plugin.ConditionEvaluator
}

func newReference(policy *validatingPolicy) (*reference, error) {
	c, err := compile(policy)
	if err != nil {
		return nil, err
	}
	var validations, matches []plugin.ExpressionAccessor
	for _, each := range policy.Spec.Validations {
		validations = append(validations, accessor{each.Expression, cel.BoolType})
	}
	for at := range policy.Spec.MatchConditions {
		matches = append(matches, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[at]))
	}
	fail := admissionv1.Fail
	matcher := matchconditions.NewMatcher(c.compiler.CompileCondition(matches, c.options, environment.StoredExpressions), &fail, "policy", "validate", policy.Name)
	return &reference{matcher, c.compiler.CompileCondition(validations, c.options, environment.StoredExpressions)}, nil
}

// admits tells whether the API server would admit the request, and else which validation refuses it.
func (r *reference) admits(attributes *admission.VersionedAttributes) (bool, string) {
	background := context.Background()
	match := r.matcher.Match(background, attributes, nil, nil)
	if match.Error != nil || !match.Matches {
		return match.Error == nil, "the match conditions"
	}
	resource, kind := attributes.GetResource(), attributes.VersionedKind
	request := plugin.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(kind))
	results, _, err := r.validations.ForInput(background, attributes, request, plugin.OptionalVariableBindings{}, nil, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return false, err.Error()
	}
	for at, each := range results {
		if each.Error != nil || each.EvalResult != types.True {
			return false, fmt.Sprintf("validation %d: %v", at, each.Error)
		}
	}
	return true, ""
}

type validatingPolicy = admissionv1.ValidatingAdmissionPolicy

func splitDocuments(text string) []string { return strings.Split(text, "\n---\n") }
