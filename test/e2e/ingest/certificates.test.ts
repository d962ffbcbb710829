import type { Server } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '@rollcall/common/clock.ts';
import { closeServer, listen } from '@rollcall/common/http-server.ts';
import { type Logger, silentLogger } from '@rollcall/common/logging.ts';
import { CA_CONFIG_MAP_NAME, TLS_SECRET_NAME } from '@rollcall/common/well-known.ts';
import { LeaderRequests } from '@rollcall/coordinator/kube/leader-requests.ts';
import { CertificateHolder, serveCurrentCertificate } from '@rollcall/coordinator/tls/certificate-holder.ts';
import { parseBundle, parseCertificate } from '@rollcall/coordinator/tls/certificate-info.ts';
import { CertificateStore } from '@rollcall/coordinator/tls/certificate-store.ts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ApiError, type KubeObject } from '../../control-plane/api-client.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { createOwnObjects, installAccess, ownNamespace } from '../../control-plane/rbac.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type CountingClient, connect } from '../kube/rig.ts';

type DataObject = KubeObject & { type?: string; data?: Record<string, string> };

const serverName = `rollcall-coordinator.${ownNamespace}.svc`;
const secretPath = `/api/v1/namespaces/${ownNamespace}/secrets/${TLS_SECRET_NAME}`;
const configMapPath = `/api/v1/namespaces/${ownNamespace}/configmaps/${CA_CONFIG_MAP_NAME}`;

let controlPlane: ControlPlane;
let coordinatorKubeconfig: string;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  ({ coordinatorKubeconfig } = await installAccess(controlPlane));
});

afterAll(() => controlPlane?.stop());

const replicas: Replica[] = [];

afterEach(async () => {
  await Promise.all(replicas.splice(0).map((replica) => replica.stop()));
  for (const path of [secretPath, configMapPath]) {
    await controlPlane.api.delete(path).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    });
  }
  await createOwnObjects(controlPlane.api);
});

type Line = { level: string; fields: Record<string, unknown>; message: string };

/** `kubeconfig` defaults to the rights that the chart grants. */
type ReplicaOptions = { leads: boolean; propagationMs?: number; kubeconfig?: string };

/** One replica of the coordinator, as far as certificates go. */
class Replica {
  leads: boolean;
  readonly client: CountingClient;
  readonly certificates = new CertificateHolder();
  readonly lines: Line[] = [];
  readonly store: CertificateStore;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor({ leads, propagationMs = 1500, kubeconfig = coordinatorKubeconfig }: ReplicaOptions) {
    this.leads = leads;
    this.client = connect(controlPlane, { kubeconfig });
    this.store = new CertificateStore({
      client: this.client,
      namespace: ownNamespace,
      certificates: this.certificates,
      policy: { names: [serverName, '127.0.0.1', '::1'], propagationMs },
      requests: new LeaderRequests({
        client: this.client,
        fence: { remainingMs: () => (this.leads ? 10_000 : 0) },
        signal: this.#stop.signal,
      }),
      clock: systemClock,
      random: Math.random,
      signal: this.#stop.signal,
      logger: this.#logger(),
    });
    this.#running = this.store.run();
    replicas.push(this);
  }

  get fingerprint(): string | undefined {
    return this.certificates.current && parseCertificate(this.certificates.current.cert).fingerprint;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.client.close();
  }

  #logger(): Logger {
    const logger = silentLogger();
    for (const level of ['info', 'warn', 'error'] as const) {
      logger[level] = ((fields: Record<string, unknown>, message: string) =>
        void this.lines.push({ level, fields, message })) as Logger['info'];
    }
    return logger;
  }
}

async function published(): Promise<string> {
  return (await controlPlane.api.get<DataObject>(configMapPath)).data?.['ca.crt'] ?? '';
}

async function versions(): Promise<(string | undefined)[]> {
  const objects = await Promise.all([secretPath, configMapPath].map((path) => controlPlane.api.get(path)));
  return objects.map(({ metadata }) => metadata.resourceVersion);
}

/** Waits until the objects stay as they are: everything has been seen and nothing is left to write. */
async function settled(): Promise<void> {
  let last = '';
  let since = Date.now();
  await waitFor('the certificates to come to rest', async () => {
    const now = JSON.stringify(await versions());
    if (now !== last) since = Date.now();
    last = now;
    return Date.now() - since > 300;
  });
}

/** A server as agents see it. Resolves to an open, verified connection's certificate, or rejects. */
async function serve(replica: Replica): Promise<{ handshake: (ca: string) => Promise<string>; server: Server }> {
  const https = process.getBuiltinModule('node:https');
  const server = https.createServer();
  serveCurrentCertificate(server, replica.certificates);
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  const handshake = (ca: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ host: '127.0.0.1', port, ca, servername: serverName }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
      socket.on('error', reject);
    });
  return { handshake, server };
}

describe('the first leader', () => {
  it('makes a Secret and publishes whom to trust, with no more rights than its role gives', async () => {
    const leader = new Replica({ leads: true });
    await waitFor('a certificate', () => leader.fingerprint);
    const { handshake, server } = await serve(leader);
    const ca = await waitFor('the bundle', published);
    // A server that began with an earlier certificate presents the next one a moment later; agents come back.
    await waitFor('the bundle of the certificate', async () => {
      const presented = await handshake(await published()).catch(() => undefined);
      return presented !== undefined && presented === leader.fingerprint;
    });
    await closeServer(server, 100);
    const secret = await controlPlane.api.get<DataObject>(secretPath);
    expect(secret.type).toBe('Opaque');
    expect(Object.keys(secret.data ?? {}).toSorted()).toEqual(['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
    expect(ca).not.toContain('PRIVATE');
  });

  it('is followed by a standby, which never writes', async () => {
    const standby = new Replica({ leads: false });
    const leader = new Replica({ leads: true });
    await waitFor(
      'the standby to serve the same',
      () => leader.fingerprint && standby.fingerprint === leader.fingerprint,
    );
    await settled();
    expect(standby.client.answers.filter((answer) => /^(patch|apply|update|create)/i.test(answer))).toEqual([]);
  });

  it('and another one that believes to lead as well come to the same certificate', async () => {
    const both = [new Replica({ leads: true }), new Replica({ leads: true })];
    await waitFor('both to serve the same', () => {
      const [a, b] = both.map(({ fingerprint }) => fingerprint);
      return a !== undefined && a === b;
    });
    await settled();
    const [a, b] = both.map(({ fingerprint }) => fingerprint);
    expect(a).toBe(b);
    const { handshake, server } = await serve(both[0] as Replica);
    expect(await handshake(await published())).toBe(a);
    await closeServer(server, 100);
  });

  it('and its successors write nothing when all is well', async () => {
    const first = new Replica({ leads: true });
    await waitFor('a certificate', () => first.fingerprint);
    await settled();
    const before = await versions();
    await first.stop();
    const second = new Replica({ leads: true });
    await waitFor('the successor to serve', () => second.fingerprint === first.fingerprint && second.fingerprint);
    await settled();
    expect(await versions()).toEqual(before);
    const asked = second.client.answers.length;
    second.store.wake();
    await waitFor('another look', () => second.client.answers.length >= asked + 2);
    expect(await versions()).toEqual(before);
  });
});

describe('a leader', () => {
  it('that takes over later looks after the certificates from then on', async () => {
    const standby = new Replica({ leads: false });
    await waitFor('a first look', () => standby.client.answers.length > 2);
    expect(standby.fingerprint).toBeUndefined();
    standby.leads = true;
    standby.store.wake();
    await waitFor('a certificate', () => standby.fingerprint);
  });

  it('says how to make a Secret that was deleted, which it may not make itself', async () => {
    await controlPlane.api.delete(secretPath);
    const leader = new Replica({ leads: true });
    const cure = `kubectl -n ${ownNamespace} create secret generic ${TLS_SECRET_NAME}`;
    await waitFor('the sentence', () =>
      JSON.stringify(leader.lines.map(({ fields }) => String(fields['err']))).includes(cure),
    );
    await createOwnObjects(controlPlane.api);
    await waitFor('a certificate', () => leader.fingerprint);
  });

  it('replaces the content of a Secret that was emptied', async () => {
    const leader = new Replica({ leads: true });
    const before = await waitFor('a certificate', () => leader.fingerprint);
    await settled();
    await controlPlane.api.patch(secretPath, [{ op: 'remove', path: '/data' }], 'application/json-patch+json');
    await waitFor('another certificate', () => leader.fingerprint !== before);
  });

  it('replaces a deleted Secret without losing an agent: the old authority stays until the new one has spread', async () => {
    const leader = new Replica({ leads: true, kubeconfig: controlPlane.kubeconfig });
    const standby = new Replica({ leads: false });
    await waitFor('the standby to serve', () => standby.fingerprint && leader.fingerprint === standby.fingerprint);
    await settled();
    const old = leader.fingerprint;
    const oldBundle = await published();
    const { handshake, server } = await serve(leader);
    await controlPlane.api.delete(secretPath);
    await waitFor('both authorities to be published', async () => parseBundle(await published()).length === 2);
    expect(await handshake(oldBundle)).toBe(old);
    const bundle = await published();
    expect(bundle).toContain(oldBundle.trim());
    await waitFor('a certificate of the new authority', () => leader.fingerprint !== old);
    expect(await handshake(bundle)).toBe(leader.fingerprint);
    await expect(handshake(oldBundle)).rejects.toThrow(/certificate/);
    await waitFor('the standby to follow', () => standby.fingerprint === leader.fingerprint);
    await settled();
    expect(await published()).toContain(oldBundle.trim());
    await closeServer(server, 100);
    expect(leader.lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        fields: {
          err: expect.objectContaining({ code: 'CERTIFICATE_INVALID', message: expect.stringContaining('deleted') }),
        },
      }),
    );
  });

  it('repairs a damaged Secret, says what was wrong, and goes on serving meanwhile', async () => {
    const leader = new Replica({ leads: true });
    await waitFor('a certificate', () => leader.fingerprint);
    await settled();
    const { handshake, server } = await serve(leader);
    const bundle = await published();
    const old = leader.fingerprint;
    await controlPlane.api.patch(secretPath, { data: { 'tls.key': Buffer.from('nonsense').toString('base64') } });
    await waitFor('a new certificate', () => leader.fingerprint !== old);
    expect(await handshake(bundle)).toBe(leader.fingerprint);
    await closeServer(server, 100);
    const messages = leader.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['err']);
    expect(messages).toEqual([
      expect.objectContaining({
        code: 'CERTIFICATE_INVALID',
        message: expect.stringContaining('tls.key is not a private key'),
      }),
    ]);
  });

  it('publishes again what another client deleted or changed', async () => {
    const leader = new Replica({ leads: true, kubeconfig: controlPlane.kubeconfig });
    await waitFor('a certificate', () => leader.fingerprint);
    await settled();
    const bundle = await published();
    await controlPlane.api.delete(configMapPath);
    await waitFor('the bundle to be back', async () => (await published()) === bundle);
    await controlPlane.api.patch(configMapPath, { data: { 'ca.crt': `${bundle}# mine`, other: 'text' } });
    await waitFor('the bundle to be as it was', async () => (await published()) === bundle);
    const { data } = await controlPlane.api.get<DataObject>(configMapPath);
    expect(data).toHaveProperty('other', 'text');
    await settled();
    expect(leader.fingerprint).toBeDefined();
  });

  it('goes on where it was after the API server was away', async () => {
    const leader = new Replica({ leads: true, kubeconfig: controlPlane.kubeconfig });
    await waitFor('a certificate', () => leader.fingerprint);
    await settled();
    const before = leader.fingerprint;
    await controlPlane.killApiServer();
    leader.store.wake();
    await waitFor('the failure to be told', () => leader.lines.some(({ level }) => level === 'warn'));
    expect(leader.fingerprint).toBe(before);
    await controlPlane.restartApiServer();
    await controlPlane.api.delete(configMapPath);
    await waitFor('the bundle to be back', async () => parseBundle(await published()).length === 1, {
      timeoutMs: 30_000,
    });
    expect(leader.fingerprint).toBe(before);
  });
});

const EMPTIED = { 'ca.crt': '', 'ca.key': '', 'tls.crt': '', 'tls.key': '', 'next-ca.crt': null, 'next-ca.key': null };

it('makes few authorities while another client empties the Secret after each write', async () => {
  const { lines } = new Replica({ leads: true });
  const made = new Set<string>();
  const untilMs = Date.now() + 28_000;
  while (Date.now() < untilMs) {
    const secret = await controlPlane.api.get<DataObject>(secretPath).catch(() => undefined);
    const authority = secret?.data?.['ca.crt'];
    if (authority !== undefined && authority !== '') {
      made.add(authority);
      await controlPlane.api.patch(secretPath, { data: EMPTIED }).catch(() => {});
    }
  }
  expect(made.size).toBeGreaterThan(1);
  expect(made.size).toBeLessThanOrEqual(14);
  expect(lines.length).toBeGreaterThan(0);
}, 60_000);
