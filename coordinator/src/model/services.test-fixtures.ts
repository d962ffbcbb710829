import { WORKSPACE_NODE_LABELS } from '@rollcall/common/well-known.ts';
import type { ReadinessGate, Service } from './services.ts';

/** A service of Gitpod, or one that is different in something. */
export function serviceOf(name = 'ws-daemon', change: Partial<Service> = {}): Service {
  return {
    name,
    pods: { namespace: 'default', selector: { matchLabels: { component: name } } },
    probe: { spec: { kind: 'tcp' }, port: 8080, host: 'Pod' },
    mode: 'Continuous',
    publish: publishing(`gitpod.io/${name}_ready_ns_default`, `gitpod.io/${name}-not-ready`),
    origin: builtIn('label'),
    ...change,
  };
}

function builtIn(gate: ReadinessGate): Service['origin'] {
  return { kind: 'built-in', gate, taintedNodes: WORKSPACE_NODE_LABELS };
}

/** A built-in service as it is with this gate. */
export function gated(service: Service, gate: ReadinessGate): Service {
  return { ...service, origin: builtIn(gate) };
}

export function publishing(label: string, taint: string): Required<Pick<Service['publish'], 'label' | 'taint'>> {
  return { label, taint: { key: taint, value: 'true', effect: 'NoSchedule' } };
}
