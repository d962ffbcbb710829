import { readFileSync } from 'node:fs';
import path from 'node:path';
import { AGENT_OPTIONS } from '@rollcall/agent/options.ts';
import { COORDINATOR_OPTIONS } from '@rollcall/coordinator/model/options.ts';
import { ROOT } from '../tidy/sources.ts';

/** A number in a file of the source: the first group of `pattern`, a product of literals such as `64 * 1024` or `2 / 3`. */
export function numberIn(file: string, pattern: RegExp): number {
  const text = pattern.exec(readFileSync(path.join(ROOT, file), 'utf8'))?.[1];
  if (text === undefined) throw new Error(`${file} has nothing like ${pattern}: claims of the documents go by it`);
  const [first = '', ...rest] = text.replaceAll('_', '').split(/\s*([*/])\s*/);
  let value = Number(first);
  for (let i = 0; i < rest.length; i += 2) {
    value = rest[i] === '*' ? value * Number(rest[i + 1]) : value / Number(rest[i + 1]);
  }
  if (!Number.isFinite(value)) throw new Error(`${file}: ${text} is no number`);
  return value;
}

/** A constant or property with this name in a file of the source. */
export function constant(file: string, name: string): number {
  return numberIn(file, new RegExp(`\\b${name}(?:: \\w+)?(?: =|:) ([0-9][0-9_.]*(?:\\s*[*/]\\s*[0-9_.]+)*)[,;\\s}]`));
}

/** The same in seconds, of a constant in milliseconds. */
export function seconds(file: string, name: string): number {
  return constant(file, name) / 1000;
}

/** The default of an option of the agent. */
export function agentDefault(name: keyof typeof AGENT_OPTIONS): string {
  return defaultOf(name, AGENT_OPTIONS[name]);
}

/** The default of an option of the coordinator. */
export function coordinatorDefault(name: keyof typeof COORDINATOR_OPTIONS): string {
  return defaultOf(name, COORDINATOR_OPTIONS[name]);
}

function defaultOf(name: string, option: object): string {
  if ('default' in option) return String(option.default);
  throw new Error(`${name} has no default`);
}

/** 5 as `five`, as sentences have it. */
export function word(value: number): string {
  const words = ['none', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
  const found = words[value];
  if (found === undefined) throw new Error(`there is no word for ${value} here`);
  return found;
}

/** 3000 as `3,000`. */
export function grouped(value: number): string {
  return value.toLocaleString('en');
}
