import { ANY_OBJECT, OBJECTS } from './kubernetes.ts';
import { count, leaf, text } from './value.ts';

/** Values of the pods of both programs. */
export const POD_VALUES = {
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
};
