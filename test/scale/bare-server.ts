import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { createCertificateAuthority } from '../control-plane/certificates.ts';
import { killChild, spawnChild } from '../control-plane/child.ts';

const PROGRAM = path.join(import.meta.dirname, 'bare-server/main.ts');

export type BareServer = {
  pid: number;
  port: number;
  /** PEM of the CA, with TLS. */
  ca: string;
  stop: () => Promise<void>;
};

/** Starts the server that others are compared with, with an answer of so many bytes. */
export async function startBareServer({ tls, replyBytes }: { tls: boolean; replyBytes: number }): Promise<BareServer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'rollcall-bench-'));
  const authority = await createCertificateAuthority('bench CA');
  const { cert, key } = await authority.issue({ commonName: 'bench', hosts: ['127.0.0.1'] });
  const files = { cert: path.join(directory, 'tls.crt'), key: path.join(directory, 'tls.key') };
  await writeFile(files.cert, cert);
  await writeFile(files.key, key);
  const args = [PROGRAM, `--reply-bytes=${replyBytes}`, ...(tls ? [`--cert=${files.cert}`, `--key=${files.key}`] : [])];
  const child = spawnChild(process.execPath, { args, stdio: ['pipe', 'pipe', 'inherit'] });
  if (!child.stdout) throw new Error('The bare server has no output');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return {
    pid: child.pid ?? 0,
    port: Number(line),
    ca: authority.cert,
    async stop() {
      await killChild(child);
      await rm(directory, { recursive: true });
    },
  };
}
