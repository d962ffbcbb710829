import { registerAgentMetrics } from '@rollcall/agent/metrics.ts';
import { AGENT_OPTIONS } from '@rollcall/agent/options.ts';
import { fieldTable, flagTable } from '@rollcall/common/config/help.ts';
import { ERROR_CODES } from '@rollcall/common/error-codes.ts';
import { createRegistry, type Registry } from '@rollcall/common/metrics.ts';
import {
  DEVICE_IDENTITY_PREFIX,
  FACT_PREFIX,
  IMPLIED_LABELS_ANNOTATION,
  MANAGED_LABELS_ANNOTATION,
  SCALE_DOWN_DISABLED,
  SCHEDULING_HINT_ANNOTATION,
  STARTUP_TAINT,
  WITHDRAWN_LABELS_ANNOTATION,
} from '@rollcall/common/well-known.ts';
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
    ['label', 'those of a NodePoolLabelSet', 'its own', 'exclusive', 'the set of the node’s pool asks for it'],
    ['annotation', `\`${MANAGED_LABELS_ANNOTATION}\``, 'keys', 'exclusive', 'a label is there because of the pool'],
    ['label', '`feature.node.kubernetes.io/usb-…`, `…/pci-…`', '`true`', 'shared', 'the agent sees such a device'],
    ['label', '`beta.devicetree.org/…`', 'how often', 'shared', 'the device tree has it'],
    ['label', `\`${DEVICE_IDENTITY_PREFIX}…\``, '`true`', 'shared', 'the agent sees the accelerator'],
    ['label', `\`${FACT_PREFIX}…\``, 'the fact', 'shared', '`--fact-labels` asks for it'],
    ['label', 'those of rule files', '`true`', 'forced', 'a rule implies it, and nobody else had set it'],
    ['annotation', `\`${IMPLIED_LABELS_ANNOTATION}\``, 'keys', 'forced', 'a label is there because of a rule'],
    [
      'annotation',
      `\`${WITHDRAWN_LABELS_ANNOTATION}\``,
      'labels',
      'forced',
      'with `--evict`: a label was taken, and is not back',
    ],
    ['annotation', `\`${SCHEDULING_HINT_ANNOTATION}\``, 'a time', 'forced', 'kube-scheduler was told to try again'],
    [
      'taint',
      `\`${STARTUP_TAINT}\``,
      '',
      'exclusive',
      'never put there by the coordinator; it goes when the gate opens',
    ],
  ];
  return markdownTable(['kind', 'key', 'value', 'ownership', 'present exactly while'], rows);
}
