import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SERVICE_LIST_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { AGENT_V8_FLAGS } from '../../../deploy/source/chart/agent-values.ts';
import { type CertificateAuthority, createCertificateAuthority } from '../../control-plane/certificates.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { type EmbeddedRig, startEmbeddedRig } from '../../rig/embedded-rig.ts';
import { httpGet } from '../../rig/http-get.ts';
import type { SimulatedNode } from '../../rig/simulated-node.ts';
import { applyNodeServiceCrd, conditionOf, NODE_SERVICES, nodeService } from './node-services.ts';

/** The most characters that the CRD accepts. */
const BUNDLE_CHARACTERS = 32_768;
const COUNT = 12;

let embedded: EmbeddedRig;
let authority: CertificateAuthority;
let server: Server;
let port: number;

beforeAll(async () => {
  embedded = await startEmbeddedRig({ prepare: applyNodeServiceCrd, nodes: 1 });
  authority = await createCertificateAuthority('a CA');
  const { cert, key } = await authority.issue({ commonName: 'service' });
  server = createServer({ cert, key, maxHeaderSize: 64 * 1024 }, (_request, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server?.close();
  server?.closeAllConnections();
  await embedded?.stop();
});

const names = Array.from({ length: COUNT }, (_, index) => `large-${String(index).padStart(2, '0')}`);
const labelOf = (name: string) => `service.rollcall.dev/${name}`;

afterEach(async () => {
  const { api } = embedded.controlPlane;
  for (const name of names) await api.delete(`${NODE_SERVICES}/${name}`);
  for (const { name: node } of embedded.rig.nodes) {
    for (const name of names) await embedded.rig.history.until(node, labelOf(name), undefined, 30_000);
  }
});

/** The certificate of the CA, and a comment that makes the bundle as long as it may be, and one of its own. */
function bundle(comment: string): string {
  const pem = `${authority.cert}\n# ${comment} `;
  return Buffer.from(pem.padEnd((BUNDLE_CHARACTERS / 4) * 3, '#')).toString('base64');
}

/** A NodeService that is as large as the CRD lets it be. */
async function createLarge(name: string, caBundle: string): Promise<void> {
  expect(caBundle).toHaveLength(BUNDLE_CHARACTERS);
  const headers = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`x-large-${index}`, 'x'.repeat(1024)]));
  const check = { name: 'port', https: { port, path: '/', headers, caBundle }, period: '500ms' };
  await embedded.controlPlane.api.post(NODE_SERVICES, nodeService(name, { checks: [check] }));
}

const acceptedOf = (name: string) => conditionOf(embedded.controlPlane.api, name, 'Ready');

async function untilJudged(): Promise<{ accepted: string[]; refused: string[] }> {
  const said = await waitFor(
    'all to be evaluated',
    async () => {
      const all = await Promise.all(names.map(acceptedOf));
      return all.every((each) => each !== '') ? all : undefined;
    },
    { timeoutMs: 30_000 },
  );
  const accepted = names.filter((_, index) => said[index]?.startsWith('True'));
  return { accepted, refused: names.filter((name) => !accepted.includes(name)) };
}

async function untilAgentReady(node: SimulatedNode): Promise<void> {
  const isReady = async () => (await httpGet(`${node.healthUrl}/readyz`)).status === 200;
  await waitFor(`the agent of ${node.name} to be ready`, isReady, { timeoutMs: 60_000 });
}

async function untilLabelled(node: SimulatedNode, accepted: readonly string[]): Promise<void> {
  for (const name of accepted) await embedded.rig.history.until(node.name, labelOf(name), 'true', 60_000);
}

test('twelve of the largest NodeServices: what agents can take is in force, and the others say why not', async () => {
  for (const name of names) await createLarge(name, bundle(name));
  const { accepted, refused } = await untilJudged();
  expect(accepted.length).toBeGreaterThanOrEqual(4);
  expect(accepted).toEqual(names.slice(0, accepted.length));
  const reason = new RegExp(`^False ListTooLarge: .*${SERVICE_LIST_BYTES_MAX / 1024} KiB.*shorten its caBundle`);
  for (const name of refused) {
    expect(await acceptedOf(name)).toMatch(reason);
    expect(await conditionOf(embedded.controlPlane.api, name, 'NodesReady')).toMatch(/^Unknown NotInForce/);
  }
  await untilLabelled(embedded.rig.node(0), accepted);
  const late = await embedded.rig.addNode({ agentProcess: { nodeArgs: AGENT_V8_FLAGS } });
  await untilAgentReady(late);
  await untilLabelled(late, accepted);
  expect(refused.length).toBeGreaterThan(0);
  // The first to go makes room for the oldest that waits.
  await embedded.controlPlane.api.delete(`${NODE_SERVICES}/${accepted[0]}`);
  const next = refused[0] ?? '';
  await waitFor(`${next} to be accepted`, async () => (await acceptedOf(next)).startsWith('True'), {
    timeoutMs: 30_000,
  });
  await untilLabelled(late, [next]);
  await createLarge(accepted[0] ?? '', bundle('again'));
});

test('one bundle that twelve NodeServices share travels once, so that all are in force', async () => {
  const shared = bundle('shared');
  for (const name of names) await createLarge(name, shared);
  expect((await untilJudged()).refused).toEqual([]);
  const late = await embedded.rig.addNode();
  await untilAgentReady(late);
  for (const node of embedded.rig.nodes) await untilLabelled(node, names);
});
