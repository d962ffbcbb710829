import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { hasExited, killChild, lastLines, spawnChild } from '../control-plane/child.ts';
import type { Environment } from '../control-plane/environment.ts';
import { freePort } from '../control-plane/ports.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { ensureGoTool } from '../go-tools/go-tool.ts';
import { httpGet } from '../rig/http-get.ts';

export type Registry = {
  /** HOST:PORT, asked over HTTP. */
  name: string;
  stop(): Promise<void>;
};

const TOOL = {
  name: 'registry',
  package: 'github.com/distribution/distribution/v3/cmd/registry',
  dir: path.join(import.meta.dirname, 'registry'),
};

/** Starts an empty registry on this address of the machine. What is pushed is kept below `dir`. */
export async function startRegistry(host: string, dir: string, environment: Environment): Promise<Registry> {
  const command = await ensureGoTool(TOOL, environment);
  const name = `${host}:${await freePort()}`;
  const storage = path.join(dir, 'registry');
  await mkdir(storage, { recursive: true });
  const config = path.join(dir, 'registry.yaml');
  await writeFile(
    config,
    stringify({
      version: 0.1,
      log: { level: 'warn', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: storage } },
      http: { addr: name },
    }),
  );
  const logFile = path.join(dir, 'registry.log');
  const env = { ...environment.variables, OTEL_TRACES_EXPORTER: 'none' };
  const child = spawnChild(command, { args: ['serve', config], logFile, env });
  await waitFor(
    'the registry',
    async () => {
      if (hasExited(child)) throw new Error(`the registry ended: ${await lastLines(logFile)}`);
      return (await httpGet(`http://${name}/v2/`).catch(() => undefined))?.status === 200;
    },
    { timeoutMs: 30_000, everyMs: 50 },
  );
  return { name, stop: () => killChild(child) };
}
