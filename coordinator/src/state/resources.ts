import { quantityOf } from '../model/inventory/quantity.ts';

/** What a pod asks for, or a node can allocate: CPU in cores, memory in bytes. */
export type Resources = { cpu: number; memory: number };

/** What kube-scheduler takes a container for that asks for nothing, when it packs: 100m and 200 MiB. */
const UNSAID: Resources = { cpu: 0.1, memory: 200 * 1024 * 1024 };
const NAMES = ['cpu', 'memory'] as const;

/**
 * What a pod asks for by its spec, whatever JSON that is, as kube-scheduler counts it for packing: its containers with
 * their sidecars, or the most that it takes to begin, and its overhead. What the pod says as a whole goes before what its
 * containers say.
 */
export function requestsOf(spec: unknown): Resources {
  const { containers, initContainers, overhead, resources } = recordOf(spec);
  const each = (name: (typeof NAMES)[number]): number => {
    const said = (requirements: unknown) => quantity(recordOf(recordOf(requirements)['requests'])[name]);
    const of = (container: unknown) => said(recordOf(container)['resources']) ?? UNSAID[name];
    let sidecars = 0;
    let most = 0;
    for (const container of listOf(initContainers)) {
      if (recordOf(container)['restartPolicy'] === 'Always') sidecars += of(container);
      else most = Math.max(most, sidecars + of(container));
    }
    const together = listOf(containers).reduce<number>((sum, container) => sum + of(container), sidecars);
    const asked = said(resources) ?? Math.max(together, most);
    return asked + (quantity(recordOf(overhead)[name]) ?? 0);
  };
  return { cpu: each('cpu'), memory: each('memory') };
}

/** What a node can allocate; `undefined` where it does not say, or nothing. */
export function allocatableResources(quantities: Readonly<Record<string, string>> | undefined): Resources | undefined {
  const [cpu = 0, memory = 0] = NAMES.map((name) => quantity(quantities?.[name]));
  return cpu > 0 && memory > 0 ? { cpu, memory } : undefined;
}

/** A Kubernetes quantity that is not negative, as a number; `undefined` for what is none. */
function quantity(value: unknown): number | undefined {
  const amount = typeof value === 'string' && !value.startsWith('-') ? quantityOf(value) : value;
  return typeof amount === 'number' && amount >= 0 ? amount : undefined;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
