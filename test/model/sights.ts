import type { ReportContent } from '@rollcall/common/report.ts';
import type { ObservedPod } from '@rollcall/coordinator/fleet/observed-pod.ts';
import { servicesToProbe } from '@rollcall/coordinator/fleet/probe-targets.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import { SERVICES } from './system.ts';
import { type NodeTruth, SERVICE_NAMES } from './truth.ts';

const DEVICE = { bus: 'usb' as const, attributes: { class: 'fe', vendor: '1a6e', device: '089a' } };

const NONE: readonly never[] = [];
const LABELS = new Map<string, { component: string }>();

/** Equal labels are one object, as `observePod` sees to. */
function labelsOf(component: string): { component: string } {
  const labels = LABELS.get(component) ?? { component };
  LABELS.set(component, labels);
  return labels;
}

/** As a watch tells of it. */
export function podOf(
  name: string,
  uid: string,
  { component, ...more }: Partial<ObservedPod> & Pick<ObservedPod, 'node'> & { component: string },
): ObservedPod {
  const pod = { uid, namespace: 'default', name, createdAtMs: 0, ready: true, terminating: false };
  const kind = { labels: labelsOf(component), tolerations: NONE, daemonSet: '' };
  return { ...pod, ...kind, podIP: '10.0.0.1', hostIP: '10.0.0.2', startTime: '', readySinceMs: 0, ...more };
}

/** What an agent of the node sees, with something that is other whenever that is. */
export function contentOf({ up, device }: NodeTruth): [content: ReportContent, digest: string] {
  const digest = `${SERVICE_NAMES.map((name) => up[name])} ${device}`;
  const known = CONTENTS.get(digest);
  if (known) return [known, digest];
  const services = SERVICE_NAMES.map((name) => {
    const ready = up[name];
    const evidence = ready ? 'answers' : 'refuses connections';
    return { name, ready, since: '2026-01-01T00:00:00Z', evidence, digest: DIGESTS.get(name) ?? '' };
  });
  const content = { services, devices: device ? [DEVICE] : [], facts: {} };
  CONTENTS.set(digest, content);
  return [content, digest];
}

/** Digests of the checks, by service. All pods have the same addresses, and an agent of the model knows the checks. */
const DIGESTS = new Map(
  servicesToProbe(
    SERVICES,
    SERVICE_NAMES.map((component) => podOf(component, component, { node: '', component })),
  ).map(({ name, digest }) => [name, digest]),
);

const CONTENTS = new Map<string, ReportContent>();

/** The value of `label:KEY`, `annotation:KEY` or `taint:KEY` on a Node; of a taint with its effect. */
export function valueOn({ metadata, spec }: Node, id: string): string | undefined {
  const at = id.indexOf(':');
  const [kind, key] = [id.slice(0, at), id.slice(at + 1)];
  if (kind === 'label') return metadata.labels?.[key];
  if (kind === 'annotation') return metadata.annotations?.[key];
  const taints = spec?.taints?.filter((each) => each.key === key) ?? [];
  if (taints.length === 0) return undefined;
  return taints
    .map(({ value = '', effect }) => `${value}:${effect}`)
    .sort()
    .join(',');
}

/** Keys of labels, annotations and taints of which the values differ. */
export function changedKeys(before: Node, after: Node): string[] {
  const keysOf = ({ metadata, spec }: Node) => [
    ...Object.keys(metadata.labels ?? {}).map((key) => `label:${key}`),
    ...Object.keys(metadata.annotations ?? {}).map((key) => `annotation:${key}`),
    ...(spec?.taints ?? []).map(({ key }) => `taint:${key}`),
  ];
  const ids = new Set([...keysOf(before), ...keysOf(after)]);
  return [...ids].filter((id) => valueOn(before, id) !== valueOn(after, id));
}
