import { WORKSPACE_NODE_LABELS } from '@rollcall/common/well-known.ts';
import type { PodsCheck, ProbeCheck, ReadinessGate, Service, ServicePods, ServiceProbe } from './services.ts';

/** A service of Gitpod, or one that is different in something. */
export function serviceOf(name = 'ws-daemon', change: Partial<Service> = {}): Service {
  return {
    name,
    checks: [podsCheck(name), probeCheck(name)],
    mode: 'Continuous',
    publish: publishing(`gitpod.io/${name}_ready_ns_default`, `gitpod.io/${name}-not-ready`),
    origin: builtIn('label'),
    ...change,
  };
}

/** Asks for these pods, or for those with this component in the namespace `default`. */
export function podsCheck(pods: ServicePods | string): PodsCheck {
  const wanted =
    typeof pods === 'string' ? { namespace: 'default', selector: { matchLabels: { component: pods } } } : pods;
  return { name: 'pod', id: 'a/pod', kind: 'pods', settings: wanted };
}

/** `id` is the service's name where it is built in. */
export function probeCheck(
  id: string,
  probe: ServiceProbe = { spec: { kind: 'tcp' }, port: 8080, host: 'Pod' },
): ProbeCheck {
  return { name: 'probe', id, kind: 'probe', settings: probe };
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
