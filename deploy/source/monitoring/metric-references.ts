/** A metric in an expression, with the labels that it is selected by. */
export type MetricReference = { name: string; matchers: { label: string; operator: string; value: string }[] };

/** Metrics that rollcall exposes, by their name alone, and what stands in braces after it. */
const SELECTOR = /\b((?:rollcall|gitpod|process)_[a-z_]+)\b(?:\{([^}]*)\})?/g;
const MATCHER = /(\w+)(=~|!~|!=|=)"([^"]*)"/g;

/** Every metric that a PromQL expression of ours reads. */
export function metricReferences(expr: string): MetricReference[] {
  const named = expr.replace(/\{__name__=~"([^"]*)"\}/g, (_, pattern: string) => namesIn(pattern).join(' '));
  return [...named.matchAll(SELECTOR)].map(([, name = '', inside = '']) => ({
    name,
    matchers: [...inside.matchAll(MATCHER)].map(([, label = '', operator = '', value = '']) => ({
      label,
      operator,
      value,
    })),
  }));
}

/** `a_(b|c)_d` as `a_b_d` and `a_c_d`. */
function namesIn(pattern: string): string[] {
  const [, before = '', choice, after = ''] = /^(\w*)\(([^)]*)\)(\w*)$/.exec(pattern) ?? [];
  return choice === undefined ? [pattern] : choice.split('|').map((each) => before + each + after);
}

/** Labels by which an expression groups or matches series. */
export function groupingLabels(expr: string): string[] {
  return [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)).filter(Boolean);
}

/** `expr` with one more condition on every series that it reads. */
export function withMatcher(expr: string, matcher: string): string {
  return expr.replace(
    SELECTOR,
    (_, name: string, inside?: string) => `${name}{${inside ? `${inside},` : ''}${matcher}}`,
  );
}
