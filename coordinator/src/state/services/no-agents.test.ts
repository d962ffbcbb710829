import { CHECK_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { atOnce } from '@rollcall/common/slices.ts';
import { expect, test } from 'vitest';
import { registryOf } from '../../model/keys/key-registry.test-fixtures.ts';
import { acceptanceOf, NO_CLAIMS } from './acceptance.ts';
import { observeNodeService } from './node-service.ts';

/** What kinds need besides their defaults. */
const SETTINGS: Readonly<Record<string, object>> = {
  ...Object.fromEntries(['tcp', 'tls', 'http2', 'http', 'https', 'grpc'].map((kind) => [kind, { port: 1 }])),
  pods: { namespace: 'a', selector: { matchLabels: { a: 'b' } } },
  condition: { type: 'example.com/A' },
  csiNode: { driver: 'a' },
  device: { name: 'edgetpu' },
  resource: { name: 'cpu' },
  dra: { driver: 'a' },
  csi: { socket: '/run/a' },
  unix: { path: '/run/a' },
  file: { path: '/run/a' },
};

/** Why a NodeService with this check is refused. */
function refusalOf(check: object, agents: boolean): string | undefined {
  const metadata = { name: 'a', uid: 'a', resourceVersion: '1', generation: 1 };
  const object = observeNodeService({ metadata, spec: { checks: [check] } });
  const options = {
    ...{ builtIn: [], keys: registryOf({ watchedServices: [] }), allowedPrefixes: [], allowedConditions: [], agents },
    ...{ allowNoExecute: false, conditions: true, agentProbesPerSecond: 1000 },
    ...{ impliedBy: () => new Set<string>(), claims: NO_CLAIMS },
  };
  function* judged() {
    return (yield* acceptanceOf([object], options)).refusals.get(object)?.reason;
  }
  return atOnce(judged());
}

test.each(Object.keys(CHECK_KINDS))(
  'without agents, %s is refused exactly if an agent vouches for it, also within anyOf',
  (kind) => {
    const check = { name: 'check', [kind]: SETTINGS[kind] ?? {} };
    const expected = CHECK_KINDS[kind]?.voucher === 'agent' ? 'NoAgents' : undefined;
    for (const each of [check, { name: 'any', anyOf: [check] }]) {
      expect(refusalOf(each, false)).toBe(expected);
      expect(refusalOf(each, true)).toBeUndefined();
    }
  },
);
