import type { Service } from './services.ts';

/** A service of Gitpod, or one that is different in something. */
export function serviceOf(name = 'ws-daemon', change: Partial<Service> = {}): Service {
  return {
    name,
    pods: { namespace: 'default', selector: { matchLabels: { component: name } } },
    probe: { port: 8080, host: 'Pod' },
    mode: 'Continuous',
    publish: publishing(`gitpod.io/${name}_ready_ns_default`, `gitpod.io/${name}-not-ready`),
    origin: { kind: 'built-in' },
    ...change,
  };
}

export function publishing(label: string, taint: string): Required<Pick<Service['publish'], 'label' | 'taint'>> {
  return { label, taint: { key: taint, value: 'true', effect: 'NoSchedule' } };
}
