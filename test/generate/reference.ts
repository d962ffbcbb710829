import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { AGENT_OPTIONS } from '@rollcall/agent/options.ts';
import { fieldTable, flagTable } from '@rollcall/common/config/help.ts';
import { ERROR_CODES } from '@rollcall/common/error-codes.ts';
import { createRegistry, type Registry } from '@rollcall/common/metrics.ts';
import { SCALE_DOWN_DISABLED } from '@rollcall/common/well-known.ts';
import { registerCoordinatorMetrics } from '@rollcall/coordinator/metrics.ts';
import { COORDINATOR_OPTIONS } from '@rollcall/coordinator/options.ts';
import { resolveServices } from '@rollcall/coordinator/services.ts';
import { type GeneratedBlock, markdownTable } from './blocks.ts';

/** Every table in the documents that repeats what the source says. */
export async function referenceBlocks(): Promise<GeneratedBlock[]> {
  const agent = createRegistry('rollcall_agent');
  registerAgentMetrics(agent, []);
  const coordinator = createRegistry('rollcall_coordinator');
  registerCoordinatorMetrics(coordinator);
  return [
    { file: 'agent/README.md', name: 'flags', content: flagTable(AGENT_OPTIONS) },
    { file: 'agent/README.md', name: 'services', content: fieldTable(AGENT_OPTIONS.services.fields) },
    { file: 'agent/README.md', name: 'metrics', content: await metricTable(agent) },
    { file: 'coordinator/README.md', name: 'flags', content: flagTable(COORDINATOR_OPTIONS) },
    { file: 'coordinator/README.md', name: 'services', content: fieldTable(COORDINATOR_OPTIONS.services.fields) },
    { file: 'coordinator/README.md', name: 'metrics', content: await metricTable(coordinator) },
    { file: 'coordinator/README.md', name: 'keys', content: keyTable() },
    { file: 'packages/common/README.md', name: 'error-codes', content: errorTable() },
  ];
}

async function metricTable(registry: Registry): Promise<string> {
  const metrics = await registry.getMetricsAsJSON();
  const rows = metrics.map(({ name, type, help }) => [`\`${name}\``, String(type), help]);
  return markdownTable(['metric', 'type', 'meaning'], rows);
}

function errorTable(): string {
  const rows = Object.entries(ERROR_CODES).map(([code, meaning]) => [`\`${code}\``, meaning]);
  return markdownTable(['code', 'meaning'], rows);
}

function keyTable(): string {
  const services = resolveServices({
    namespace: 'NAMESPACE',
    wsDaemonPort: 8080,
    registryFacadePort: 31750,
    services: [],
  });
  const rows = [
    ...services.map(({ name, label }) => ['label', `\`${label}\``, '`true`', 'exclusive', `${name} is ready`]),
    ...services.map(({ name, taint }) => [
      'taint',
      `\`${taint}\``,
      '`true:NoSchedule`',
      'exclusive',
      `${name} is not ready, on nodes for workspaces, where \`--readiness-gate\` asks for taints`,
    ]),
    ['annotation', `\`${SCALE_DOWN_DISABLED}\``, '`true`', 'forced', 'a Workspace is on the node, or it has the hold'],
  ];
  return markdownTable(['kind', 'key', 'value', 'ownership', 'present exactly while'], rows);
}
