import type { CheckKind } from '@rollcall/common/checks/check-kind.ts';
import { PROBE_KINDS, SEEN_KINDS, type SeenKindName, type SettingsOf } from '@rollcall/common/checks/check-kinds.ts';
import type { PodsSettings } from '@rollcall/common/checks/kinds/pods.ts';
import { digestOf } from '@rollcall/common/digest.ts';
import type { ProbeSpec } from '@rollcall/common/report.ts';
import {
  COMPONENT_LABEL,
  notReadyTaint,
  REGISTRY_FACADE,
  readyLabel,
  WORKSPACE_NODE_LABELS,
  WS_DAEMON,
} from '@rollcall/common/well-known.ts';
import type { KeyKind } from './keys/key-entry.ts';
import type { LabelSelector } from './label-selector.ts';

/** Something that has to be up on a node for the node to do its job: what tells whether it is, and what is said of it. */
export type Service = {
  name: string;
  /** The nodes that it is for; defaults to every node. */
  nodeSelector?: LabelSelector;
  /** All have to pass. Names are unique. */
  checks: readonly ServiceCheck[];
  /** `Startup`: evaluated until it is ready on a node for the first time, by the uid of the node, and then left. */
  mode: 'Continuous' | 'Startup';
  /** Time from the creation of a node after which the service, if it was never ready there, has failed to start. */
  startupDeadlineMs?: number;
  /** Nothing in a dry run. */
  publish: Publication;
  /** In a dry run, what it would publish. */
  dryRun?: Publication;
  origin: ServiceOrigin;
};

/** One check, or several of which one has to pass. */
export type ServiceCheck = SingleCheck | AnyOfCheck;

type AnyOfCheck = { name: string; kind: 'anyOf'; checks: readonly SingleCheck[] };

export type SingleCheck = SeenCheck | ProbeCheck;

/** `id`: unique among the checks of all services; the name of a probe in the list for agents, and in their reports. */
type Check<K extends string, Settings> = { name: string; id: string; kind: K; settings: Settings };

/** A check that the coordinator makes. */
export type SeenCheck = {
  [K in SeenKindName]: Check<K, K extends 'pods' ? ServicePods : SettingsOf<K>>;
}[SeenKindName];

export type PodsCheck = Extract<SeenCheck, { kind: 'pods' }>;
export type ConditionCheck = Extract<SeenCheck, { kind: 'condition' }>;

/** A check that agents make. */
export type ProbeCheck = Check<'probe', ServiceProbe>;

/** What is known of the kind of a check. */
export function kindOf(check: SingleCheck): CheckKind | undefined {
  return check.kind === 'probe' ? PROBE_KINDS[check.settings.spec.kind] : SEEN_KINDS[check.kind];
}

const digests = new WeakMap<SingleCheck, string>();

/**
 * Returns the digest of what a check says, without its names and its grace. What is remembered of a check belongs to that:
 * one that is renamed is the same.
 */
export function saysOf(check: SingleCheck): string {
  const known = digests.get(check);
  if (known !== undefined) return known;
  const { of: _of, graceMs: _graceMs, ...says }: Readonly<Record<string, unknown>> = check.settings;
  const digest = digestOf({ kind: check.kind, ...says });
  digests.set(check, digest);
  return digest;
}

/** How long a check that passed still counts as passed after it began to fail. */
export function graceOf({ settings }: SingleCheck): number | undefined {
  return 'graceMs' in settings ? settings.graceMs : undefined;
}

/** Whether a probe asks for what all nodes share. */
export function isOfCluster({ spec }: ServiceProbe): boolean {
  return PROBE_KINDS[spec.kind]?.isOfCluster === true;
}

/** Whether what a probe finds depends on when the pod of the service started. */
export function dependsOnStart({ spec }: ServiceProbe): boolean {
  const { field, value } = PROBE_KINDS[spec.kind]?.ofPodStart ?? {};
  return field !== undefined && spec[field] === value;
}

/** The checks of conditions of a service. */
export function conditionChecksOf(service: Pick<Service, 'checks'>): ConditionCheck[] {
  return singleChecksOf(service).filter((check) => check.kind === 'condition');
}

/** The pods that have to be watched for a service: its own, and those that report conditions that it checks. */
export function watchedPodsOf(service: Pick<Service, 'checks'>): ServicePods[] {
  const own = podsChecksOf(service).map(({ settings }) => settings);
  return [...own, ...conditionChecksOf(service).flatMap(({ settings: { reporter } }) => reporter ?? [])];
}

/** A key of Nodes that a service publishes. */
export type PublishedKey = { kind: keyof Publication; key: string };

/** What a service publishes. */
export function publishedKeys({ publish: { label, taint, condition } }: Pick<Service, 'publish'>): PublishedKey[] {
  const keys: PublishedKey[] = [];
  if (label !== undefined) keys.push({ kind: 'label', key: label });
  if (taint) keys.push({ kind: 'taint', key: taint.key });
  if (condition !== undefined) keys.push({ kind: 'condition', key: condition });
  return keys;
}

/** A service as it is without a dry run. */
export function withoutDryRun(service: Service): Service {
  const { dryRun, ...others } = service;
  return dryRun ? { ...others, publish: dryRun } : service;
}

/** The same for one key, without a list. */
export function publishes(
  { publish }: Pick<Service, 'publish'>,
  { kind, key }: { kind: KeyKind; key: string },
): boolean {
  const { label, taint, condition } = publish;
  return { label, annotation: undefined, taint: taint?.key, condition }[kind] === key;
}

/** The checks of a service, those within `anyOf` among them. */
export function singleChecksOf({ checks }: Pick<Service, 'checks'>): SingleCheck[] {
  return checks.flatMap((check) => (check.kind === 'anyOf' ? check.checks : [check]));
}

/** Whether this resource has to be watched for any of its checks. */
export function needs(service: Pick<Service, 'checks'>, resource: NonNullable<CheckKind['watched']>): boolean {
  return singleChecksOf(service).some((check) => kindOf(check)?.watched === resource);
}

/** Pods that a service selects, of all its checks. */
export function podsChecksOf(service: Pick<Service, 'checks'>): PodsCheck[] {
  return singleChecksOf(service).filter((check) => check.kind === 'pods');
}

/** The pods where a probe is made: those of the check that it names, or of all. */
export function podsChecksFor(service: Pick<Service, 'checks'>, { of }: ServiceProbe): PodsCheck[] {
  const all = podsChecksOf(service);
  return of === undefined ? all : all.filter(({ name }) => name === of);
}

/** What agents probe of a service. */
export function probeChecksOf(service: Pick<Service, 'checks'>): ProbeCheck[] {
  return singleChecksOf(service).filter((check) => check.kind === 'probe');
}

/** Selects its pods, of which one on the node has to be Ready; `optional`: they only say where the service is. */
export type ServicePods = PodsSettings & { optional?: true };

/**
 * How agents ask it. Built-in services omit times and thresholds, which default to the agents' flags; NodeServices have
 * them always, but for a period that is not written.
 */
export type ServiceProbe = {
  spec: ProbeSpec;
  /** Absent where the service is at a path. */
  port?: number;
  /**
   * The address to ask at. Defaults to the pod IP, or to the node IP if there is no pod or it uses the host network.
   */
  host?: ServiceHost;
  /** Name of the check whose pods it asks; needed only beside several. */
  of?: string;
  periodMilliseconds?: number;
  timeoutMilliseconds?: number;
  failureThreshold?: number;
  successThreshold?: number;
};

type ServiceHost = 'Pod' | 'Node' | 'Loopback';

/** What a node shows of a service. */
export type Publication = {
  /** The label that is `true` exactly while the service is ready. */
  label?: string;
  /** There exactly while the service is not ready. */
  taint?: ServiceTaint;
  /** Type of a condition of the Node: True, False, or Unknown while the readiness is unknown. */
  condition?: string;
};

export type ServiceTaint = {
  key: string;
  value: string;
  effect: TaintEffect;
  /** How many of the nodes that were open for the service it may close at a time; defaults to `20%`. */
  maxUnavailable?: MaxUnavailable;
};

/** A number of nodes from 1, or a percentage from `1%` to `100%`. */
export type MaxUnavailable = number | string;

/** `NoExecute` only where `--allow-no-execute` lets it. */
export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** Which keys of a built-in service show whether it is ready; all keys of a NodeService do. */
export type ReadinessGate = 'label' | 'taint' | 'both';

/** The origin of a service: built in, or a NodeService. `inForceSinceMs`: set if it came into force after its creation. */
type ServiceOrigin =
  | {
      kind: 'built-in';
      gate: ReadinessGate;
      /** Only nodes with one of these labels, whatever its value, get the taint. */
      taintedNodes: readonly string[];
    }
  | { kind: 'object'; uid: string; generation: number; createdAtMs: number; inForceSinceMs?: number };

export type GitpodOptions = {
  gitpod: boolean;
  namespace: string;
  wsDaemonPort: number;
  registryFacadePort: number;
  requirePod: boolean;
  readinessGate: ReadinessGate;
  wsDaemonProbe: 'tcp' | 'tls' | 'http2';
};

/** registry-facade answers 404 for an image that cannot exist, as Gitpod's own readiness check expects. */
const REGISTRY_FACADE_PROBE: ProbeSpec = {
  kind: 'https',
  path: '/v2/remote/not-a-valid-image/manifests/latest',
  headers: { accept: 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json' },
  expectedStatuses: ['404'],
};

/** The services of Gitpod, or none where Gitpod is not wanted. `caBundle` verifies registry-facade. */
export function gitpodServices(options: GitpodOptions, caBundle?: string): Service[] {
  const {
    gitpod,
    namespace,
    requirePod,
    readinessGate: gate,
    wsDaemonProbe,
    wsDaemonPort,
    registryFacadePort,
  } = options;
  const service = (name: string, probe: ServiceProbe): Service => ({
    name,
    checks: [
      {
        name: 'pod',
        id: `${name}/pod`,
        kind: 'pods',
        settings: {
          namespace,
          selector: { matchLabels: { [COMPONENT_LABEL]: name } },
          ...(requirePod ? {} : { optional: true }),
        },
      },
      { name: 'probe', id: name, kind: 'probe', settings: probe },
    ],
    mode: 'Continuous',
    publish: {
      label: readyLabel(name, namespace),
      taint: { key: notReadyTaint(name), value: 'true', effect: 'NoSchedule' },
    },
    origin: { kind: 'built-in', gate, taintedNodes: WORKSPACE_NODE_LABELS },
  });
  if (!gitpod) return [];
  const https = { ...REGISTRY_FACADE_PROBE, ...(caBundle === undefined ? {} : { caBundle }) };
  return [
    service(WS_DAEMON, { spec: { kind: wsDaemonProbe }, port: wsDaemonPort, host: 'Pod' }),
    service(REGISTRY_FACADE, { spec: https, port: registryFacadePort, host: 'Node' }),
  ];
}
