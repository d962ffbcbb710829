import { IMPLIED_LABELS_ANNOTATION, MANAGED_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { KeyRegistry } from '../../setup/keys/key-registry.ts';
import type { Service } from '../../setup/services.ts';
import type { DeviceGrammar } from './device-grammar.ts';
import { deviceLabelsLabeler } from './device-labels.ts';
import { factLabelsLabeler } from './fact-labels.ts';
import { impliedLabels, type Rules } from './implied-labels.ts';
import type { Claim, JudgedNode, Labelers, LabelWishes } from './labeler.ts';
import { leftOverKeysLabeler } from './left-over-keys.ts';
import { reservedKeys } from './pool-keys.ts';
import { poolLabelsLabeler } from './pool-labels.ts';
import { type PublishedKeysOptions, publishedKeysLabeler } from './published-keys.ts';
import { type ReadinessGate, readinessLabeler } from './readiness.ts';
import { scaleDownLabeler } from './scale-down.ts';
import { schedulingHintLabeler } from './scheduling-hint.ts';
import { servicesStartedLabeler } from './services-started.ts';
import { type StartupGateOptions, startupGateLabeler } from './startup-gate.ts';
import { unknownServices } from './unknown-services.ts';
import { withdrawnLabels } from './withdrawn-labels.ts';

/** Claims, some of whose labels stay for now; `list` is the annotation that names them as ours. */
type Delay = (claims: readonly Claim[], node: JudgedNode, list: string) => Claim[];

/** What labelers are made with. */
export type LabelerOptions = {
  services: () => readonly Service[];
  mayTaint: PublishedKeysOptions['mayTaint'];
  mayClear: PublishedKeysOptions['mayClear'];
  gate: ReadinessGate;
  keys: KeyRegistry;
  poolsAllowedPrefixes: readonly string[];
  forbiddenLabelDomains: readonly string[];
  startupGate: StartupGateOptions;
  deviceGrammar: DeviceGrammar;
  factLabels: readonly string[];
  /** The rules as they are at the moment; without it, there are none. */
  rules: (() => Rules) | undefined;
  /** Whether to note which labels were taken, so that pods can be evicted for it, and for which not. */
  eviction: { isIgnored: (label: string) => boolean } | undefined;
};

/** All labelers. `delay` is asked about labels that go by what was configured. */
export function createLabelers(options: LabelerOptions & { delay: Delay }): Labelers {
  const { rules, eviction, keys, delay } = options;
  const poolLabels = poolLabelsLabeler(reservedKeys(keys, options));
  const implied = rules && impliedLabels(rules, keys);
  return {
    labelers: [
      readinessLabeler(options),
      publishedKeysLabeler(options),
      servicesStartedLabeler(options.services),
      scaleDownLabeler,
      leftOverKeysLabeler(keys),
      { ...poolLabels, claims: (node) => delay(poolLabels.claims(node), node, MANAGED_LABELS_ANNOTATION) },
      startupGateLabeler(options.startupGate, options.services),
      deviceLabelsLabeler(options.deviceGrammar),
      factLabelsLabeler(options.factLabels),
      schedulingHintLabeler,
    ],
    consequences: [
      ...(implied
        ? [
            {
              ...implied,
              claims: (node: JudgedNode, wishes: LabelWishes) =>
                delay(implied.claims(node, wishes), node, IMPLIED_LABELS_ANNOTATION),
            },
          ]
        : []),
      unknownServices,
      ...(eviction ? [withdrawnLabels(eviction.isIgnored)] : []),
    ],
  };
}
