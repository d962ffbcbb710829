import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALERTS } from '../../../deploy/source/monitoring/alerts.ts';
import { findPrometheus } from '../../monitoring/tools.ts';
import { type Fault, OF_ONE, OF_SERVICES } from './runbook-faults.ts';
import { OF_ALL, OF_PROGRAMS } from './runbook-faults-of-all.ts';
import { RunbookStage } from './runbook-stage.ts';

/*
 * Each runbook against the fault that it is about: the condition of its alert holds, as a real Prometheus finds; what
 * the page quotes is there; what the page says ends it, and the condition holds no more. `for` of the alerts is left
 * out, and windows are seconds instead of minutes.
 *
 * What the pages say and what is not shown here:
 * - What a kubelet or a CNI plugin does: logs of pods and of their predecessors, OOMKilled and failing liveness probes
 *   (RollcallRestarting), mounted ConfigMaps, Secrets and tokens, NetworkPolicies, DNS.
 * - Discovery by Prometheus Operator: PodMonitors and the page Targets (RollcallNotScraped).
 * - Too little CPU, and throttling by API priority and fairness (RollcallLeaderFlapping, RollcallExtenderSlow,
 *   RollcallSlowToApply, RollcallWritesFailing). The first two are caused by hand: a Lease that others take, a leader
 *   that stands still.
 * - "Failed to look after certificates" and a new CA of the coordinator's own (RollcallCertificateExpiring), "Kept the
 *   facts that were known before" (RollcallCollectorFailing), "Lost the API server while writing"
 *   (RollcallWritesFailing), and the outcomes `failed` of evictions and `invalid` of writes: one cause of each page is
 *   tried.
 */

/** Tried in runbooks.test.ts. */
const TRIED_THERE = ['RollcallConflicts', 'RollcallPoolKeysRefused', 'RollcallAgentsMissing', 'RollcallAgentsSilent'];

/** One after the other; what is in a group happens side by side. */
const GROUPS = [[...OF_ONE, ...OF_PROGRAMS], OF_SERVICES, ...OF_ALL];

const tools = await findPrometheus();
const missing = 'missing' in tools ? tools.missing : undefined;

function chain(fault: Fault): Fault[] {
  return [fault, ...(fault.follows ? chain(fault.follows) : [])];
}

test('every runbook is tried', () => {
  const tried = GROUPS.flat()
    .flatMap(chain)
    .map(({ runbook }) => runbook);
  expect([...new Set([...tried, ...TRIED_THERE])].toSorted()).toEqual(ALERTS.map(({ name }) => name).toSorted());
});

describe.skipIf(missing)(`a runbook${missing ? ` (${missing})` : ''}`, () => {
  let stage: RunbookStage;
  beforeAll(async () => {
    if ('prometheus' in tools) stage = await RunbookStage.start(tools.prometheus);
  }, 240_000);
  afterAll(() => stage?.stop());

  async function tryOut(fault: Fault): Promise<void> {
    const faults = chain(fault);
    for (const { runbook, series, window, cause, seen, fix } of faults) {
      await cause(stage);
      await stage.fires(runbook, series, window);
      for (const sight of seen(stage)) await stage.sees(runbook, sight);
      await fix?.(stage);
    }
    for (const { runbook, series } of faults) await stage.ends(runbook, series);
    for (const sight of fault.seenAfter?.(stage) ?? []) await stage.sees(fault.runbook, sight);
  }

  test('is not needed while all is well', async () => {
    const firing = await Promise.all(ALERTS.map(async ({ name }) => ({ name, series: await stage.firing(name) })));
    expect(firing.filter(({ series }) => series.length > 0)).toEqual([]);
  });

  describe.each(GROUPS)('of one fault among others, %#:', (...faults) => {
    const running = new Map<Fault, Promise<void>>();
    beforeAll(() => {
      for (const fault of faults) {
        const trial = tryOut(fault);
        running.set(fault, trial);
        // Its own test tells.
        trial.catch(() => {});
      }
    });

    test.each(faults)('$runbook', { timeout: 300_000 }, (fault) => running.get(fault));
  });
});
