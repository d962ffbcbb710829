import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createCertificateAuthority } from '../../control-plane/certificates.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Cluster } from './writer-rig.ts';

/** A validating webhook that is asked about Nodes with one label, and does not answer until it relents. */
export type HangingWebhook = {
  /** The number of calls that wait for an answer. */
  waiting(): number;
  /** Admits everything from now on, and what waits. */
  relent(): void;
  stop(): Promise<void>;
};

export type HangingWebhookOptions = {
  matchLabels: Record<string, string>;
  failurePolicy: 'Fail' | 'Ignore';
  timeoutSeconds: number;
  /** A Node with these labels. It is written until the webhook is called. */
  probe: string;
};

const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';

export async function startHangingWebhook(cluster: Cluster, options: HangingWebhookOptions): Promise<HangingWebhook> {
  const { matchLabels, failurePolicy, timeoutSeconds, probe } = options;
  const authority = await createCertificateAuthority('webhook');
  const { cert, key } = await authority.issue({ commonName: 'webhook', hosts: ['127.0.0.1'] });
  const { api } = cluster.controlPlane;
  const held = new Set<() => void>();
  let [isHanging, calls] = [false, 0];
  const server = createServer({ cert, key }, async (incoming, answer) => {
    calls += 1;
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { request } = JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string } };
    const admit = () => {
      held.delete(admit);
      const response = { uid: request.uid, allowed: true };
      answer.setHeader('content-type', 'application/json');
      answer.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }));
    };
    if (!isHanging) return admit();
    held.add(admit);
    answer.once('close', () => held.delete(admit));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const name = `hanging-${port}`;
  await api.post(path, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: 'hanging.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy,
        timeoutSeconds,
        objectSelector: { matchLabels },
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(authority.cert).toString('base64') },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'], scope: '*' }],
      },
    ],
  });
  const writeProbe = () =>
    api.patch(`/api/v1/nodes/${probe}`, { metadata: { labels: { probe: String(performance.now()) } } });
  await waitFor('the webhook to be called', async () => {
    await writeProbe();
    return calls > 0;
  });
  isHanging = true;
  return {
    waiting: () => held.size,
    relent() {
      isHanging = false;
      for (const admit of held) admit();
    },
    async stop() {
      await api.delete(`${path}/${name}`);
      await close(server);
    },
  };
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
