import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../control-plane/wait-for.ts';
import type { Answer, Gateway } from './gateway.ts';
import type { Run } from './run.ts';

/** Perturbations of a run at one of its writes. Each heals by itself. */
export const KINDS = {
  'crash-before': 'the coordinator is killed before the write',
  'crash-after': 'the coordinator is killed after the write, before it hears of it',
  frozen: 'no watch tells anything from before the write until 2 s after it',
  dropped: 'the event of the write never comes; 2 s later the watch has expired, and everything is listed anew',
  behind: 'from the write on, everything is read from an API server that has not heard of it; it catches up after 2 s',
  'crash-behind':
    'the coordinator is killed after the write, and starts anew on an API server that has not heard of it',
} as const;

export type Kind = keyof typeof KINDS;

const LASTS_MS = 2000;
/** A list that insists on the present waits 3 s for an API server that is behind. What prunes does not tell that it leads. */
const START_MAX_MS = 10_000;

type Disturb = (run: Run, gateway: Gateway, forward: () => Promise<Answer>) => Promise<Answer | undefined>;

export const DISTURB: Readonly<Record<Kind, Disturb>> = {
  'crash-before': async (run, gateway) => {
    await run.crash(gateway.client);
    return undefined;
  },
  'crash-after': async (run, gateway, forward) => {
    await forward();
    await run.crash(gateway.client);
    return undefined;
  },
  frozen: async (run, _gateway, forward) => {
    for (const each of run.gateways) each.freeze();
    run.heals(async () => {
      await sleep(LASTS_MS);
      for (const each of run.gateways) each.thaw();
    });
    return forward();
  },
  dropped: async (run, _gateway, forward) => {
    // The event may come before the answer.
    for (const each of run.gateways) each.freeze();
    const answer = await forward();
    const seen = metadataIn(answer);
    for (const each of run.gateways) {
      if (seen) for (const watch of each.watches) watch.drop(seen);
      each.thaw();
    }
    run.heals(async () => {
      await sleep(LASTS_MS);
      for (const each of run.gateways) for (const watch of each.watches) if (watch.lacks) watch.expire();
    });
    return answer;
  },
  behind: async (run, _gateway, forward) => {
    run.link.hold();
    const answer = await forward();
    for (const each of run.gateways) {
      each.readsAt = run.behindUrl;
      each.cut();
    }
    run.heals(async () => {
      await sleep(LASTS_MS);
      run.present();
    });
    return answer;
  },
  'crash-behind': async (run, gateway, forward) => {
    run.link.hold();
    await forward();
    for (const each of run.gateways) each.readsAt = run.behindUrl;
    await run.crash(gateway.client);
    run.heals(async () => {
      await waitFor('a leader', () => run.someLeads(), { timeoutMs: START_MAX_MS }).catch(() => {});
      await sleep(LASTS_MS);
      run.present();
    });
    return undefined;
  },
};

function metadataIn({ status, body }: Answer): { uid: string; resourceVersion: string } | undefined {
  if (status < 200 || status > 299) return undefined;
  const { metadata } = JSON.parse(body) as { metadata?: { uid?: string; resourceVersion?: string } };
  const { uid, resourceVersion } = metadata ?? {};
  return uid && resourceVersion ? { uid, resourceVersion } : undefined;
}
