import {
  DEVICE_IDENTITY_PREFIX,
  FACT_PREFIX,
  IMPLIED_LABELS_ANNOTATION,
  MANAGED_LABELS_ANNOTATION,
  SCALE_DOWN_DISABLED,
  SCHEDULING_HINT_ANNOTATION,
  WITHDRAWN_LABELS_ANNOTATION,
} from '@rollcall/common/well-known.ts';
import { DEFAULT_POOL_LABELS } from '@rollcall/coordinator/pools.ts';
import { KUBERNETES_DOMAINS } from '@rollcall/coordinator/reserved-domains.ts';
import { resolveServices, type Service } from '@rollcall/coordinator/services.ts';

/** What the policies depend on. */
export type PolicySettings = {
  /** Where the coordinator is. */
  namespace: string;
  /** Where the NodePoolLabelSets are. */
  poolNamespace: string;
  services: readonly Pick<Service, 'label' | 'taint'>[];
  /** Labels that name the pool of a node, the first that has a value counts. */
  poolLabels: readonly string[];
  /** Where no NodePoolLabelSet may set a label. */
  reservedDomains: readonly string[];
  /** What the keys of labels begin with that the coordinator may set on any node. */
  labelPrefixes: readonly string[];
  /** Annotations that the coordinator may set. */
  annotations: readonly string[];
};

/** An installation into the namespace `rollcall`, for Gitpod in `default`, with every option as it is by default. */
export const DEFAULT_SETTINGS: PolicySettings = {
  namespace: 'rollcall',
  poolNamespace: 'rollcall',
  services: resolveServices({ namespace: 'default', wsDaemonPort: 8080, registryFacadePort: 31750, services: [] }),
  poolLabels: DEFAULT_POOL_LABELS,
  reservedDomains: KUBERNETES_DOMAINS,
  labelPrefixes: [
    'feature.node.kubernetes.io/usb-',
    'feature.node.kubernetes.io/pci-',
    'beta.devicetree.org/',
    DEVICE_IDENTITY_PREFIX,
    FACT_PREFIX,
    // Of the rules in deploy/rules.
    'accelerators/',
  ],
  annotations: [
    SCALE_DOWN_DISABLED,
    MANAGED_LABELS_ANNOTATION,
    IMPLIED_LABELS_ANNOTATION,
    WITHDRAWN_LABELS_ANNOTATION,
    SCHEDULING_HINT_ANNOTATION,
  ],
};
