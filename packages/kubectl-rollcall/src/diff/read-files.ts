import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { DiffRequest } from '@rollcall/common/console.ts';
import { parseAllDocuments } from 'yaml';
import { CommandFailure, EXIT } from '../failure.ts';

/**
 * What the files propose. A file of Kubernetes objects is one whose documents all have a kind; `-` is standard input. Any
 * other is a rule file: its label is its name, with the folder that it is in where that can begin a label.
 */
export function readFiles(files: readonly string[]): DiffRequest {
  const objects: object[] = [];
  const rules: Record<string, string> = {};
  for (const file of files) {
    const text = readText(file);
    const found = objectsIn(text);
    if (found) objects.push(...found);
    else if (file === '-')
      throw new CommandFailure('Standard input contains no Kubernetes objects', 'pass rule files by their path', {
        exitCode: EXIT.usage,
      });
    else rules[labelOf(file)] = text;
  }
  return { objects, rules };
}

function readText(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandFailure(`Cannot read ${file}: ${reason}`, 'pass a readable file after each -f', {
      cause,
      exitCode: EXIT.usage,
    });
  }
}

type KubeObject = { kind: string; items?: object[] };

function objectsIn(text: string): object[] | undefined {
  let values: unknown[];
  try {
    const documents = parseAllDocuments(text);
    if (!Array.isArray(documents) || documents.some(({ errors }) => errors.length > 0)) return undefined;
    values = documents.map((document) => document.toJS() as unknown).filter((value) => value !== null);
  } catch {
    return undefined;
  }
  if (values.length === 0 || !values.every(isObject)) return undefined;
  return values.flatMap((value) => (value.kind.endsWith('List') && value.items ? value.items : [value]));
}

function isObject(value: unknown): value is KubeObject {
  return value !== null && typeof value === 'object' && 'kind' in value && typeof value.kind === 'string';
}

/** `…/accelerators/edgetpu` gives `accelerators/edgetpu`, and `edgetpu` itself. */
export function labelOf(file: string): string {
  const folder = path.basename(path.dirname(file));
  const name = path.basename(file);
  return /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/.test(folder) && path.dirname(file) !== '.' ? `${folder}/${name}` : name;
}
