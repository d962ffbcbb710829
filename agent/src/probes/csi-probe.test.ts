import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProbePaths } from './probe-paths.ts';
import { openLineFor } from './testing/ask-once.ts';
import { createGrpcServer, type GrpcAnswer, type GrpcMethods } from './testing/grpc-server.ts';
import { within } from './testing/limits.ts';
import { listenAt, temporaryDirectory } from './testing/local-files.ts';

const PROBE = '/csi.v1.Identity/Probe';

/** What the probe says of a driver, the path left out. */
async function ask(methods: GrpcMethods, limitMs = 5000): Promise<string> {
  const directory = temporaryDirectory();
  const socket = path.join(directory, 'csi.sock');
  await listenAt(socket, createGrpcServer(methods));
  const line = openLineFor({ kind: 'csi', socket }, { paths: new ProbePaths([directory]) })(() => {});
  onTestFinished(() => line.release());
  const { verdict, evidence } = await line.ask({ path: socket }, within(limitMs), true);
  return `${verdict}: ${evidence.replace(` ${socket}`, '')}`;
}

describe('a probe of a CSI driver', () => {
  it.each<[string, GrpcAnswer]>([
    ['healthy: csi says that it is ready', new Uint8Array(0)],
    ['healthy: csi says that it is ready', Uint8Array.of(10, 2, 8, 1)],
    ['soft: csi says that it is not ready', Uint8Array.of(10, 2, 8, 0)],
    // A BoolValue that is there has the value false unless it says otherwise.
    ['soft: csi says that it is not ready', Uint8Array.of(10, 0)],
    ['soft: csi answered with a message that cannot be read', Uint8Array.of(8, 1)],
    ['soft: csi says that it is not healthy (FAILED_PRECONDITION)', { status: 9 }],
    ['soft: csi answered with an error (INTERNAL)', { status: 13 }],
  ])('is %s', async (evidence, answer) => {
    expect(await ask({ [PROBE]: () => answer })).toBe(evidence);
  });

  it('asks with a message that has no fields, as the specification has it', async () => {
    const requests: number[][] = [];
    const take = (request: Uint8Array) => {
      requests.push([...request]);
      return new Uint8Array(0);
    };
    await ask({ [PROBE]: take });
    expect(requests).toEqual([[]]);
  });

  it('says what is no CSI driver, and which one hangs', async () => {
    expect(await ask({})).toBe('soft: csi has no csi.v1.Identity (UNIMPLEMENTED)');
    expect(await ask({ [PROBE]: () => () => {} }, 100)).toBe('soft: csi did not answer within 100 ms');
  });
});
