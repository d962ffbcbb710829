import { resolveByDns } from '../host-lookup.ts';
import { lineWithoutConnection } from './idle-line.ts';
import { createProbe } from './probe.ts';
import { inPodNetwork } from './target-rule.ts';
import type { ProbeKind } from './types.ts';

const DEFAULT_NAME = 'kubernetes.default.svc';
/** RFC 1123, section 2.1; a dot at the end means the root. */
const NAME = /^(?=.{1,253}$)[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*\.?$/i;

/** Healthy when a name has an address in DNS, as for any pod of the node: by the servers and domains of resolv.conf. */
export const dns: ProbeKind = {
  kind: 'dns',
  addressOf: ({ name = DEFAULT_NAME }, rules) => inPodNetwork(rules, { name: String(name) }),
  prepare({ name = DEFAULT_NAME }, { clock, resolvConf }) {
    if (typeof name !== 'string' || !NAME.test(name)) return 'its name is not a name of DNS';
    const probe = createProbe('dns', clock, async (_target, signal) => {
      try {
        await resolveByDns(name, signal, { resolvConf });
        return { healthy: true, says: 'was resolved' };
      } catch (error) {
        // Of a server, and not of what the name stands for: nothing is proven by a connection that it refuses.
        signal.throwIfAborted();
        const { code = 'no answer' } = error as NodeJS.ErrnoException;
        return { healthy: false, says: `was not resolved (${code})` };
      }
    });
    return lineWithoutConnection(probe);
  },
};
