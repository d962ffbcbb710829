import type { DnsSettings } from '@rollcall/common/checks/kinds/cluster.ts';
import { resolveByDns } from '../host-lookup.ts';
import { lineWithoutConnection } from './idle-line.ts';
import { createProbe } from './probe.ts';
import { inPodNetwork } from './target-rule.ts';
import type { ProbeKind } from './types.ts';

const DEFAULT_NAME = 'kubernetes.default.svc';

/** Healthy when a name has an address in DNS, as for any pod of the node: by the servers and domains of resolv.conf. */
export const dns: ProbeKind<DnsSettings> = {
  kind: 'dns',
  addressOf: ({ name = DEFAULT_NAME }, rules) => inPodNetwork(rules, { name }),
  prepare({ name = DEFAULT_NAME }, { clock, resolvConf }) {
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
