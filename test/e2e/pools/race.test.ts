import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  admissionKnows,
  applyCrd,
  applyDeployed,
  type PoolCluster,
  poolLabelSet,
  poolsPath,
  startPoolCluster,
} from './pool-cluster.ts';
import { clearStage, createFullNodes, createWaitingPods, fillNodes, startLateLabeler } from './race-stage.ts';

const isFull = process.env['ROLLCALL_RACE'] === 'full';
const nodes = isFull ? 500 : 60;
const timeoutMs = isFull ? 900_000 : 120_000;

let cluster: PoolCluster;
let stopLabeler: () => void;

beforeAll(async () => {
  // A pod that found no node tries again soon when one comes.
  const configYaml = 'podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n';
  cluster = await startPoolCluster({ scheduler: { configYaml } });
  await applyCrd(cluster);
  await cluster.api.post(poolsPath(), poolLabelSet('gold', { tier: 'gold' }));
  await cluster.api.post(poolsPath(), poolLabelSet('plain', { tier: 'plain' }));
  stopLabeler = startLateLabeler(cluster);
});
afterAll(async () => {
  stopLabeler?.();
  await cluster?.stop();
});

describe(`of the pods that wait for ${nodes} nodes, and must not run on some of them`, () => {
  test('some end there when the label comes after the node', { timeout: timeoutMs }, async () => {
    await createFullNodes(cluster);
    await createWaitingPods(cluster, nodes);
    const { onAWrongNode } = await fillNodes(cluster, nodes);
    expect(onAWrongNode).toBeGreaterThan(0);
    await clearStage(cluster);
  });

  test('none ends there when the policies are in force', { timeout: timeoutMs }, async () => {
    await applyDeployed(cluster, 'policies');
    await admissionKnows(cluster, 'gold', ['tier', 'gold']);
    await admissionKnows(cluster, 'plain', ['tier', 'plain']);
    await createFullNodes(cluster);
    await createWaitingPods(cluster, nodes);
    expect(await fillNodes(cluster, nodes)).toEqual({ onAWrongNode: 0, onAGoldenNode: nodes });
  });
});
