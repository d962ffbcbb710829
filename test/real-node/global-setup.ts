import type { TestProject } from 'vitest/node';
import { findObstacle } from './machine.ts';
import './on-real-nodes.ts';
import { prepareMachine } from './real-cluster.ts';

/**
 * Finds out whether this machine can run real nodes, and obtains what it needs for that, which takes minutes the first
 * time. Where it cannot, the tests are skipped, and this says why.
 * @public vitest calls it.
 */
export async function setup(project: TestProject): Promise<void> {
  const obstacle = (await findObstacle()) ?? (await whyNotPrepared());
  if (obstacle !== undefined) process.stderr.write(`The tests on real nodes are skipped: ${obstacle}\n`);
  project.provide('obstacleToRealNodes', obstacle ?? '');
}

function whyNotPrepared(): Promise<string | undefined> {
  return prepareMachine().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}
