import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { readEnvironment } from '../control-plane/environment.ts';
import { run } from '../control-plane/run.ts';
import { ensureGoTool } from '../go-tools/go-tool.ts';

const HEALTH = path.resolve(import.meta.dirname, '../../deploy/argo-cd/health.yaml');
const TOOL = { name: 'deployers', package: '.', dir: import.meta.dirname };

/** What Flux and Helm 4 (`kstatus`), and Argo CD with the health check that is shipped (`argo`), conclude from an object. */
export type Conclusion = { kstatus: string; message: string; argo: string; says: string };

/** The health checks that are shipped for Argo CD: Lua, by the key of its ConfigMap. */
export async function healthChecks(): Promise<Readonly<Record<string, string>>> {
  const { data } = parse(await readFile(HEALTH, 'utf8')) as { data: Record<string, string> };
  return data;
}

/** @throws with what the program says, which it does of a health check that is not right. */
export async function conclusionsOf(objects: readonly object[], lua: string): Promise<Conclusion[]> {
  const environment = readEnvironment();
  const command = await ensureGoTool(TOOL, environment);
  const { code, out, err } = await run(command, [], environment.variables, { stdin: JSON.stringify({ objects, lua }) });
  if (code !== 0) throw new Error(`deployers ended with ${code}: ${err.trim()}`);
  return JSON.parse(out) as Conclusion[];
}
