import path from 'node:path';
import { parseDocument } from 'yaml';
import type { KubeObject } from '../control-plane/api-client.ts';
import type { Helm } from '../helm/helm.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
export const CHART = path.join(ROOT, 'deploy/chart');
export const CRD_CHART = path.join(ROOT, 'deploy/chart-crds');
export const CRDS = path.join(ROOT, 'deploy/crds');
export const MANIFESTS = path.join(ROOT, 'deploy/manifests');
export const EVERYTHING = path.join(import.meta.dirname, 'everything.values.yaml');
/** Turns off what requires Kubernetes 1.36. */
const BEFORE_1_36 = ['--set', 'policies.poolLabels.enabled=false,policies.startupTaint.enabled=false'];
/** CRDs of the operator of Prometheus, for clusters that get objects of it. */
export const OPERATOR = path.join(import.meta.dirname, 'prometheus-operator.yaml');

/** A fixed version, so that nothing depends on the version of Kubernetes with which Helm was built. */
const FOR = ['--kube-version', '1.36.0'];

/** Values, as Helm takes them from a file. */
export type Values = Readonly<Record<string, unknown>>;

/** What `helm template` prints for these values. */
export function renderChart(helm: Helm, values: Values = {}, args: readonly string[] = []): Promise<string> {
  const all = ['template', 'rollcall', CHART, '--namespace', 'rollcall', ...FOR, '--values', '-', ...args];
  return helm(all, { stdin: JSON.stringify(values) });
}

/** Arguments of Helm for everything that the API server of a cluster can have. */
export async function everythingOn(kubectl: (args: readonly string[]) => Promise<string>): Promise<string[]> {
  const { serverVersion } = JSON.parse(await kubectl(['version', '-o', 'json'])) as {
    serverVersion: { minor: string };
  };
  return ['--values', EVERYTHING, ...(Number.parseInt(serverVersion.minor, 10) < 36 ? BEFORE_1_36 : [])];
}

export async function renderObjects(
  helm: Helm,
  values: Values = {},
  args: readonly string[] = [],
): Promise<KubeObject[]> {
  return objectsIn(await renderChart(helm, values, args));
}

/** Objects by their text: the parser takes ten times as long as Helm, and most objects are the same in all renderings. */
const parsed = new Map<string, KubeObject | null>();

export function objectsIn(yaml: string): KubeObject[] {
  return yaml
    .split(/^---\n/m)
    .map((text) => {
      if (!parsed.has(text)) parsed.set(text, objectIn(text));
      return structuredClone(parsed.get(text) ?? null);
    })
    .filter((object) => object !== null)
    .flatMap((object) => (object.kind === 'List' ? (object['items'] as KubeObject[]) : [object]));
}

function objectIn(yaml: string): KubeObject | null {
  const document = parseDocument(yaml);
  // A key that is there twice is one of them.
  if (document.errors[0]) throw document.errors[0];
  return document.toJS() as KubeObject | null;
}

/** The one object of this kind and name. @throws where there is none. */
export function find<T extends KubeObject = KubeObject>(objects: readonly KubeObject[], kind: string, name: string): T {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) throw new Error(`There is no ${kind} ${name}`);
  return found as T;
}

type Container = {
  name: string;
  command: string[];
  args: string[];
  env: { name: string; value?: string }[];
  resources: { limits: Record<string, string>; requests: Record<string, string> };
  securityContext: Record<string, unknown>;
  [field: string]: unknown;
};

export type PodTemplate = {
  metadata: Record<string, unknown>;
  spec: { containers: Container[]; serviceAccountName: string; volumes: Record<string, unknown>[] } & Record<
    string,
    unknown
  >;
};

/** Objects that have a pod template, with the template. */
export function workloads(objects: readonly KubeObject[]): { kind: string; name: string; template: PodTemplate }[] {
  return objects.flatMap((object) => {
    const template = (object['spec'] as { template?: PodTemplate } | undefined)?.template;
    return template && object.kind ? [{ kind: object.kind, name: object.metadata.name, template }] : [];
  });
}

/** What a ConfigMap holds as a file. */
export function fileOf(objects: readonly KubeObject[], configMap: string, file: string): string {
  const text = find<KubeObject & { data: Record<string, string> }>(objects, 'ConfigMap', configMap).data[file];
  if (text === undefined) throw new Error(`${configMap} has no ${file}`);
  return text;
}
