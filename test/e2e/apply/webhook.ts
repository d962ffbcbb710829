import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createCertificateAuthority } from '../../control-plane/certificates.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import type { Cluster } from './writer-rig.ts';

/** The object of an admission request: a Node as the request would leave it. */
type AdmissionRequest = {
  uid: string;
  object: {
    metadata: { name: string; labels?: Record<string, string> };
    spec?: { taints?: { key: string }[] };
    status?: { conditions?: { type: string }[] };
  };
};

/** Part of an AdmissionResponse: a refusal, perhaps with causes, or a JSON patch. */
export type Verdict = {
  status?: { code: number; reason: string; message: string; details?: object };
  patch?: object[];
};

/** An installed webhook. */
export type Webhook = {
  /** How often it was asked about the Node. */
  asked(node: string): number;
  /** Lets everything through from now on. */
  relent(): void;
  stop(): Promise<void>;
};

const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';

/** Installs a mutating webhook on updates of Nodes and waits until the API server calls it. */
export async function startWebhook(
  cluster: Cluster,
  probe: string,
  decide: (object: AdmissionRequest['object']) => Verdict,
): Promise<Webhook> {
  const authority = await createCertificateAuthority('webhook');
  const { cert, key } = await authority.issue({ commonName: 'webhook', hosts: ['127.0.0.1'] });
  const asked = new Map<string, number>();
  let isRival = true;
  const server = createServer({ cert, key }, async (incoming, answer) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const review = JSON.parse(Buffer.concat(chunks).toString()) as { request: AdmissionRequest };
    const { uid, object } = review.request;
    asked.set(object.metadata.name, (asked.get(object.metadata.name) ?? 0) + 1);
    const { status, patch }: Verdict = isRival ? decide(object) : {};
    const encoded = patch && Buffer.from(JSON.stringify(patch)).toString('base64');
    const response = {
      uid,
      allowed: status === undefined,
      ...(status ? { status } : {}),
      ...(encoded ? { patch: encoded, patchType: 'JSONPatch' } : {}),
    };
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { api } = cluster.controlPlane;
  await api.post(path, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: `webhook-${port}` },
    webhooks: [
      {
        name: 'rival.example.com',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(authority.cert).toString('base64') },
        rules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['UPDATE'],
            resources: ['nodes', 'nodes/status'],
            scope: '*',
          },
        ],
      },
    ],
  });
  await waitFor('the webhook to be called', async () => {
    await api
      .patch(`/api/v1/nodes/${probe}`, { metadata: { labels: { probe: String(performance.now()) } } })
      .catch(() => {});
    return asked.has(probe);
  });
  return {
    asked: (node) => asked.get(node) ?? 0,
    relent() {
      isRival = false;
    },
    async stop() {
      await api.delete(`${path}/webhook-${port}`);
      await waitFor('the webhook to be left out', async () => {
        const before = asked.get(probe);
        await api.patch(`/api/v1/nodes/${probe}`, { metadata: { labels: { probe: String(performance.now()) } } });
        return asked.get(probe) === before;
      });
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
