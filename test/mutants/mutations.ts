import { parseAst } from 'vitest/node';

/** One place of a source file, changed. Offsets are of UTF-16 code units. */
export type Mutation = { start: number; end: number; replacement: string; line: number; what: string };

type AstNode = { type: string; start: number; end: number; [field: string]: unknown };

const COMPARISONS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
};
const ARITHMETIC: Readonly<Record<string, string>> = { '-': '+', '*': '/', '/': '*' };
const LOGIC: Readonly<Record<string, string>> = { '&&': '||', '||': '&&' };
const EXTREMES: Readonly<Record<string, string>> = { 'Math.max': 'Math.min', 'Math.min': 'Math.max' };

/** Logs, metrics and complaints are not mutated. */
const SPEECH = /\blogger\b|#log\b|\bmetrics\b|#metrics\b|#complain\b/;
/** Expressions of types, below which there is a value all the same. */
const TRANSPARENT = new Set(['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression']);

/** Every mutation of a TypeScript file, in the order of its text. Throws for a file that cannot be parsed. */
export function mutationsOf(code: string): Mutation[] {
  const found: Mutation[] = [];
  const text = ({ start, end }: AstNode) => code.slice(start, end);
  const add = (node: AstNode, replacement: string, what: string) => {
    const line = code.slice(0, node.start).split('\n').length;
    found.push({ start: node.start, end: node.end, replacement, line, what });
  };
  walk(parseAst(code, { lang: 'ts' }), (node) => {
    for (const [replacement, what, at = node] of changesOf(node, text)) add(at, replacement, what);
  });
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

export function mutated(code: string, { start, end, replacement }: Mutation): string {
  return code.slice(0, start) + replacement + code.slice(end);
}

type Change = readonly [replacement: string, what: string, at?: AstNode];

function changesOf(node: AstNode, text: (node: AstNode) => string): Change[] {
  const child = (name: string) => node[name] as AstNode;
  switch (node.type) {
    case 'BinaryExpression': {
      const operator = node['operator'] as string;
      const other = COMPARISONS[operator] ?? ARITHMETIC[operator];
      if (other === undefined) return [];
      return [[`((${text(child('left'))}) ${other} (${text(child('right'))}))`, `${operator} becomes ${other}`]];
    }
    case 'LogicalExpression': {
      const operator = node['operator'] as string;
      const other = LOGIC[operator];
      if (other === undefined) return [];
      return [[`((${text(child('left'))}) ${other} (${text(child('right'))}))`, `${operator} becomes ${other}`]];
    }
    case 'UnaryExpression':
      return node['operator'] === '!' ? [[`(${text(child('argument'))})`, '! removed']] : [];
    case 'Literal':
      return constant(node['value']);
    case 'IfStatement':
      return [['false', 'the condition never holds', child('test')]];
    case 'ConditionalExpression':
      return [[`!(${text(child('test'))})`, 'the branches change places', child('test')]];
    case 'ReturnStatement': {
      const value = node['argument'] as AstNode | null;
      // Who is told false does not mind undefined; that false becomes true is a mutation of its own.
      if (!value || text(value) === 'undefined' || text(value) === 'false') return [];
      return [['return undefined;', 'the result is not returned']];
    }
    case 'ExpressionStatement':
      return isDeed(child('expression')) && !SPEECH.test(text(node)) ? [[';', 'the statement removed']] : [];
    case 'CallExpression': {
      const other = EXTREMES[text(child('callee'))];
      return other ? [[other, `${text(child('callee'))} becomes ${other}`, child('callee')]] : [];
    }
  }
  return [];
}

function constant(value: unknown): Change[] {
  if (typeof value === 'boolean') return [[String(!value), `${value} becomes ${!value}`]];
  if (typeof value !== 'number') return [];
  const other = value === 0 ? 1 : value * 2;
  return [[String(other), `${value} becomes ${other}`]];
}

/** A call or an assignment, that is, something that makes a difference to others. */
function isDeed(expression: AstNode): boolean {
  switch (expression.type) {
    case 'AwaitExpression':
      return isDeed(expression['argument'] as AstNode);
    case 'ChainExpression':
      return isDeed(expression['expression'] as AstNode);
    case 'CallExpression':
      return (expression['callee'] as AstNode).type !== 'Super';
  }
  return expression.type === 'AssignmentExpression' || expression.type === 'UpdateExpression';
}

function walk(node: unknown, visit: (node: AstNode) => void): void {
  if (Array.isArray(node)) {
    for (const element of node) walk(element, visit);
    return;
  }
  if (!isNode(node) || node.type === 'ImportDeclaration') return;
  if (node.type.startsWith('TS')) {
    if (TRANSPARENT.has(node.type)) walk(node['expression'], visit);
    return;
  }
  visit(node);
  for (const value of Object.values(node)) if (typeof value === 'object') walk(value, visit);
}

function isNode(value: unknown): value is AstNode {
  return typeof value === 'object' && value !== null && typeof (value as AstNode).type === 'string';
}
