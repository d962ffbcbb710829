import type { ServiceDocument } from '@rollcall/common/console.ts';
import { count, grouped } from '../text/count.ts';
import { Page, type Terminal } from '../text/page.ts';

/** Why a service is not in force, or not ready on nodes. */
export function whyServiceText(
  { name, accepted, problem, checks, publish, dryRun, nodes, noNode, commonest }: ServiceDocument,
  terminal: Terminal,
): { isWell: boolean; text: string } {
  const page = new Page(terminal);
  const all = nodes.ready + nodes.notReady + nodes.unknown;
  const isWell = accepted && !commonest && all > 0;
  if (!accepted)
    page.line(`The service ${name} is not in force: ${problem?.message ?? 'no reason given'}.`, { tone: 'bad' });
  else if (all === 0)
    page.line(`The service ${name} belongs on no node${noNode === undefined ? '' : `: ${noNode}`}.`, {
      tone: 'doubtful',
    });
  else
    page.line(`The service ${name} is ready on ${grouped(nodes.ready)} of ${count(all, 'node')}.`, {
      tone: isWell ? 'good' : 'bad',
    });
  if (accepted && commonest) {
    const { state, reason, nodes: same, example } = commonest;
    const where = same === 1 ? `on ${example}` : `on ${count(same, 'node')}, such as ${example}`;
    page.line(`It is ${state === 'unknown' ? 'unknown' : 'not ready'} ${where}: ${reason}`);
    page.cure(`kubectl rollcall why node/${example}`, 0);
  }
  page.line();
  if (accepted && problem) page.field('problem', problem.message, { tone: 'bad' });
  if (dryRun) page.field('dry run', 'nothing is written to nodes', { tone: 'doubtful' });
  for (const check of checks) page.field('check', `${check.name}: ${check.what}`);
  for (const [form, key] of Object.entries(publish)) page.field(form, key);
  if (all > 0) {
    page.field(
      'nodes',
      `${grouped(nodes.ready)} ready, ${grouped(nodes.notReady)} not ready, ${grouped(nodes.unknown)} unknown`,
    );
  }
  return { isWell, text: page.text };
}
