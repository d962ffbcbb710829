import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { AGENT_OPTIONS } from '@rollcall/agent/options.ts';
import { CHECK_KINDS, PROBE_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { flagTable } from '@rollcall/common/config/help.ts';
import { ERROR_CODES } from '@rollcall/common/error-codes.ts';
import { createRegistry, type Registry } from '@rollcall/common/metrics.ts';
import type { KeyEntry } from '@rollcall/coordinator/model/keys/key-entry.ts';
import { OWN_KEYS, serviceKeys } from '@rollcall/coordinator/model/keys/own-keys.ts';
import { COORDINATOR_OPTIONS } from '@rollcall/coordinator/model/options.ts';
import { designRecords } from '../../packages/docs/src/design-records.ts';
import { PROMISES } from '../../test/claims/promises.ts';
import { numberIn } from '../../test/claims/source.ts';
import { VERSIONS } from '../../test/versions/versions.ts';
import { type GeneratedBlock, markdownTable } from './blocks.ts';
import { registerCoordinatorMetrics } from './coordinator-metrics.ts';
import { GRANTS, placeOf } from './manifests/accounts.ts';
import { builtInServices } from './manifests/settings.ts';

const REFERENCE = 'packages/docs/reference';
const TROUBLESHOOT = 'packages/docs/how-to/troubleshoot.md';

/** Every table in the documents that repeats what the source says. */
export async function referenceBlocks(): Promise<GeneratedBlock[]> {
  const agent = createRegistry('rollcall_agent');
  registerAgentMetrics(agent);
  const coordinator = createRegistry('rollcall_coordinator');
  registerCoordinatorMetrics(coordinator);
  return [
    { file: `${REFERENCE}/flags.md`, name: 'agent', content: flagTable(AGENT_OPTIONS) },
    { file: `${REFERENCE}/flags.md`, name: 'coordinator', content: flagTable(COORDINATOR_OPTIONS) },
    { file: `${REFERENCE}/metrics.md`, name: 'agent', content: await metricTable(agent) },
    { file: `${REFERENCE}/metrics.md`, name: 'coordinator', content: await metricTable(coordinator) },
    { file: `${REFERENCE}/keys.md`, name: 'keys', content: keyTable() },
    { file: `${REFERENCE}/node-services.md`, name: 'checks', content: checkTable() },
    { file: `${REFERENCE}/support.md`, name: 'versions', content: versionTable() },
    { file: TROUBLESHOOT, name: 'error-codes', content: errorTable() },
    { file: 'packages/docs/design/index.md', name: 'records', content: recordTable() },
    { file: 'SECURITY.md', name: 'accounts', content: accountTable() },
    { file: 'SECURITY.md', name: 'promises', content: promiseTable() },
  ];
}

async function metricTable(registry: Registry): Promise<string> {
  const metrics = await registry.getMetricsAsJSON();
  const rows = metrics.map(({ name, type, help }) => [`\`${name}\``, String(type), help]);
  return markdownTable(['metric', 'type', 'meaning'], rows);
}

function promiseTable(): string {
  const rows = PROMISES.map(({ area, promise, file }) => [area, `[${promise}](${file})`]);
  return markdownTable(['area', 'promise, with its test'], rows);
}

function recordTable(): string {
  const rows = designRecords().map(({ file, title, date }) => [date, `[${title}](${file})`]);
  return markdownTable(['date', 'decision'], rows);
}

/** Every kind of check, and who sees what it asks for. */
function checkTable(): string {
  const rows = Object.entries(CHECK_KINDS).map(([kind, { schema, voucher }]) => {
    const agent = PROBE_KINDS[kind]?.isOfCluster ? 'agent in the pod network' : 'agent';
    return [`\`${kind}\``, schema.description ?? '', voucher === 'agent' ? agent : 'coordinator'];
  });
  return markdownTable(['kind', 'meaning', 'who sees it'], [...rows, ['`anyOf`', 'One of up to 8 checks passes.', '']]);
}

/** What was run on which version of Kubernetes. */
function versionTable(): string {
  const older = VERSIONS.map((version) => [version, 'the core of the end-to-end tests (`npm run test:versions`)']);
  const newest = `1.${numberIn('test/control-plane/go.mod', /k8s\.io\/kubernetes v1\.([0-9]+)\./)}`;
  return markdownTable(['Kubernetes', 'what is run'], [...older, [newest, 'every test (`npm run test:all`)']]);
}

function errorTable(): string {
  const rows = Object.entries(ERROR_CODES).map(([code, meaning]) => [`\`${code}\``, meaning]);
  return markdownTable(['code', 'meaning'], rows);
}

function keyTable(): string {
  const services = builtInServices({ namespace: 'NAMESPACE' });
  const entries = [...services.flatMap(serviceKeys), ...OWN_KEYS];
  const rows = entries.map(({ kind, keys, value, ownership, presentWhile }) => [
    kind,
    keyText(keys),
    value,
    ownership,
    presentWhile,
  ]);
  return markdownTable(['kind', 'key', 'value', 'ownership', 'present exactly while'], rows);
}

function keyText(keys: KeyEntry['keys']): string {
  if ('name' in keys) return `\`${keys.name}\``;
  return 'prefix' in keys ? `\`${keys.prefix}…\`` : `listed in \`${keys.listedIn}\``;
}

/** What each account may do, and what of it the fence lets a write change. Rights to read alone are in one row. */
function accountTable(): string {
  const kind = (grant: (typeof GRANTS)[number]) => `\`${placeOf(grant)}\``;
  const isRead = ({ verbs }: (typeof GRANTS)[number]) => verbs.every((verb) => ['get', 'list', 'watch'].includes(verb));
  const rows = GRANTS.filter((grant) => !isRead(grant)).map((grant) => {
    const { accounts, verbs, changes, about = '', where = 'the cluster', when } = grant;
    const { field = '', keys = [], annotations = [] } = changes ?? {};
    const content = [`\`${field}\`: ${keys.join(', ')}`, ...annotations.map((key) => `\`${key}\``)].join('; ');
    const place = when === undefined ? where : `${where} (${when})`;
    return [kind(grant), accounts.join(', '), verbs.join(', '), place, changes ? content : about];
  });
  const read = [...new Set(GRANTS.filter(isRead).map(kind))].join(', ');
  rows.push([read, 'coordinator', 'list, watch', '[where needed](packages/docs/how-to/install.md#rights)', 'nothing']);
  return markdownTable(['object', 'account', 'verbs', 'where', 'what a write can change'], rows);
}
