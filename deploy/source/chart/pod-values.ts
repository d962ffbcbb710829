import { ANNOTATIONS, ANY_OBJECT, LABELS, NAME_OR_NONE, OBJECTS } from './kubernetes.ts';
import { count, leaf, type Section, section, text } from './value.ts';

type Probe = { periodSeconds: number; timeoutSeconds: number; failureThreshold: number };

/** Timings of the probes of a container. What a probe asks is fixed. */
export function probeValues(startup: Probe, readiness: Probe): Record<string, Section> {
  const liveness = { periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 3 };
  return {
    startupProbe: probe('Startup probe.', startup),
    livenessProbe: probe('Liveness probe.', liveness),
    readinessProbe: probe('Readiness probe.', readiness),
  };
}

function probe(help: string, { periodSeconds, timeoutSeconds, failureThreshold }: Probe): Section {
  return section(help, {
    periodSeconds: count('Seconds between two probes.', periodSeconds, 1, 3600),
    timeoutSeconds: count('Seconds until a probe without an answer has failed.', timeoutSeconds, 1, 3600),
    failureThreshold: count('Probes that fail in a row before it counts.', failureThreshold, 1, 3600),
  });
}

/** Values of the pods of both programs. */
export const POD_VALUES = {
  serviceAccountLabels: leaf('Additional labels of the service account.', LABELS, {}),
  serviceAccountAnnotations: leaf('Annotations of the service account.', ANNOTATIONS, {}),
  minReadySeconds: count('Seconds for which a new pod must be ready before the next one is replaced.', 0, 0, 3600),
  revisionHistoryLimit: count('Number of old revisions to keep for a rollback.', 10, 0, 100),
  dnsPolicy: text('DNS policy of the pods; empty: that of Kubernetes.', '', {
    enum: ['', 'ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'],
  }),
  dnsConfig: leaf('DNS settings of the pods.', ANY_OBJECT, {}),
  hostAliases: leaf('Additional entries of /etc/hosts.', OBJECTS, []),
  hostUsers: leaf(
    'With false, the pods run in a user namespace; null: as Kubernetes decides.',
    { type: ['boolean', 'null'] },
    null,
  ),
  runtimeClassName: text('Name of an existing RuntimeClass; empty: the default runtime of the nodes.', '', {
    pattern: NAME_OR_NONE,
  }),
  initContainers: leaf('Init containers, as in a pod of Kubernetes.', OBJECTS, []),
};
