import type { ReportContent, ServiceReport, ServiceToProbe } from '@rollcall/common/report.ts';
import { SERVICES_STARTED_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Node } from '@rollcall/coordinator/kube/objects.ts';
import type { ObservedPod } from '@rollcall/coordinator/state/observed-pod.ts';
import { servicesToProbe } from '@rollcall/coordinator/state/probe-targets.ts';
import { portNamed, SHAPES } from './kinds.ts';
import { PORTS } from './node-services.ts';
import { startedNoteOn } from './started-note.ts';
import { builtInServices } from './system.ts';
import { type NodeTruth, type Said, SERVICE_NAMES } from './truth.ts';
import { sees } from './versions.ts';

const TOLERATIONS = [{ operator: 'Exists' }] as const;
const LABELS = new Map<string, { component: string }>();

/** Equal labels are one object, as `observePod` sees to. */
function labelsOf(component: string): { component: string } {
  const labels = LABELS.get(component) ?? { component };
  LABELS.set(component, labels);
  return labels;
}

/** When a pod that was created then started: at once. */
export function startOf(createdAtMs: number): string {
  return new Date(createdAtMs).toISOString();
}

/** The object as a watch shows it. */
export function podOf(
  name: string,
  uid: string,
  { component, ...more }: Partial<ObservedPod> & Pick<ObservedPod, 'node'> & { component: string },
): ObservedPod {
  const pod = { uid, namespace: 'default', name, createdAtMs: 0, ready: true, terminating: false };
  const kind = { labels: labelsOf(component), tolerations: TOLERATIONS, daemonSet: '' };
  const startTime = startOf(more.createdAtMs ?? pod.createdAtMs);
  return { ...pod, ...kind, podIP: '10.0.0.1', hostIP: '10.0.0.2', startTime, readySinceMs: 0, ...more };
}

/** An agent that looks at a node. `list`: what it was told to probe. */
type Viewer = { list: readonly ServiceToProbe[]; version: string | undefined };

/** What an agent of the node sees, with something that is other whenever that is. */
export function contentOf(truth: NodeTruth, { list, version }: Viewer): [content: ReportContent, digest: string] {
  const { device } = truth;
  const up = upFor(truth, version);
  const checks = list
    .filter(({ name }) => !DIGESTS.has(name))
    .map(({ name, digest, ...how }) => ({ name, digest, ready: isUp(truth, how, version) }));
  const seen = checks.map(({ name, digest, ready }) => `${name} ${digest} ${ready}`);
  const digest = `${SERVICE_NAMES.map((name) => up[name])} ${device} ${version} ${seen}`;
  const known = CONTENTS.get(digest);
  if (known) return [known, digest];
  const since = '2026-01-01T00:00:00Z';
  const services: ServiceReport[] = SERVICE_NAMES.map((name) => {
    const ready = up[name];
    const evidence = ready ? 'answers' : 'refuses connections';
    return { name, ready, since, evidence, digest: DIGESTS.get(name) ?? '' };
  });
  for (const check of checks) services.push({ ...check, since, evidence: check.ready ? 'answers' : 'refuses' });
  const said = version === undefined ? {} : { version };
  const content = { services, devices: SHAPES.device.devices(device), facts: {}, ...said };
  CONTENTS.set(digest, content);
  return [content, digest];
}

/** Digests of the checks, by service. All pods have the same addresses, and an agent of the model knows the checks. */
const DIGESTS = new Map(
  servicesToProbe(
    builtInServices('label'),
    SERVICE_NAMES.map((component) => podOf(component, component, { node: '', component })),
  ).map(({ name, digest }) => [name, digest]),
);

const CONTENTS = new Map<string, ReportContent>();

/** What the leader is told by a report of this content. */
export function saidBy(truth: NodeTruth, { list, version }: Viewer): Omit<Said, 'boot' | 'before'> {
  const checks = list.filter(({ name }) => !DIGESTS.has(name));
  const idOf = ({ name, ...how }: ServiceToProbe) =>
    `${name} ${how.probe.kind} ${portOf(how)} ${how.target ? 'pod' : 'node'}${how.periodMilliseconds === 100 ? ' fast' : ''} ${how.probe['newerThan']}${how.podStart === undefined ? '' : ` of ${how.podStart}`}`;
  return {
    version: version ?? '',
    up: upFor(truth, version),
    device: truth.device,
    checks: new Map(checks.map((check) => [idOf(check), isUp(truth, check, version)])),
  };
}

type How = Pick<ServiceToProbe, 'probe' | 'target' | 'podStart'>;

function upFor({ up }: NodeTruth, version: string | undefined): NodeTruth['up'] {
  const entries = SERVICE_NAMES.map((name) => [name, up[name] && sees(version, name)]);
  return Object.fromEntries(entries) as NodeTruth['up'];
}

function isUp(truth: NodeTruth, how: How, version: string | undefined): boolean {
  const port = portOf(how);
  return truth.ports[port] === true && sees(version, port) && isNewEnough(truth, how);
}

/** Of a file that has to be newer than something: whether it was written since. */
function isNewEnough({ writtenMs, bootedMs }: NodeTruth, how: How): boolean {
  const { newerThan } = how.probe;
  const sinceMs = newerThan === 'Pod' ? Date.parse(how.podStart ?? '') : bootedMs;
  return newerThan === undefined || (writtenMs[portOf(how)] ?? 0) >= sinceMs;
}

function portOf({ probe, target }: How): number {
  if (target) return target.port;
  return portNamed(probe, PORTS[0]);
}

/** The value of `label:KEY`, `annotation:KEY`, `taint:KEY` or `condition:TYPE` on a Node; of a taint with its effect. */
export function valueOn(node: Node, id: string): string | undefined {
  const { metadata, spec, status } = node;
  const at = id.indexOf(':');
  const [kind, key] = [id.slice(0, at), id.slice(at + 1)];
  if (kind === 'label') return metadata.labels?.[key];
  if (key === SERVICES_STARTED_ANNOTATION) return servicesStartedOn(node);
  if (kind === 'annotation') return metadata.annotations?.[key];
  if (kind === 'condition') return status?.conditions?.find(({ type }) => type === key)?.status;
  const taints = spec?.taints?.filter((each) => each.key === key) ?? [];
  if (taints.length === 0) return undefined;
  return taints
    .map(({ value = '', effect }) => `${value}:${effect}`)
    .sort()
    .join(',');
}

/** Without the generations: which of them was ready first depends on the moment. */
function servicesStartedOn(object: Node): string | undefined {
  const { node, services } = startedNoteOn(object);
  return services && JSON.stringify({ node, services });
}

/** Keys of labels, annotations, taints and conditions of which the values differ. */
export function changedKeys(before: Node, after: Node): string[] {
  const keysOf = ({ metadata, spec, status }: Node) => [
    ...Object.keys(metadata.labels ?? {}).map((key) => `label:${key}`),
    ...Object.keys(metadata.annotations ?? {}).map((key) => `annotation:${key}`),
    ...(spec?.taints ?? []).map(({ key }) => `taint:${key}`),
    ...(status?.conditions ?? []).map(({ type }) => `condition:${type}`),
  ];
  const ids = new Set([...keysOf(before), ...keysOf(after)]);
  return [...ids].filter((id) => valueOn(before, id) !== valueOn(after, id));
}
