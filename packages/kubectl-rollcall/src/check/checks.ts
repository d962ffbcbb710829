import type { Check } from './check.ts';
import {
  admissionPolicies,
  apiServerVersion,
  clusterAutoscaler,
  karpenter,
  nodeReadinessRules,
  nodesThere,
  otherLabelers,
  poolsAgree,
  rightsToInstall,
} from './cluster-checks.ts';
import { fenceAgrees } from './fence-checks.ts';
import {
  agentsRun,
  agentsTolerate,
  certificates,
  clocksAgree,
  gitpodNamespace,
  isInstalled,
  nodeServicesAccepted,
  oneConfiguration,
  oneVersion,
  ownNamespace,
  policiesBound,
  someoneLeads,
} from './installation-checks.ts';
import { networkOpen } from './network-checks.ts';
import { daemonSetsSelect, daemonSetsTolerateGate, holdsAndExpiry, poolObjectsWatched } from './object-checks.ts';
import { coordinatorRights } from './rights-checks.ts';

/** Of a cluster that has no rollcall yet. */
export const PRE_CHECKS: readonly Check[] = [
  apiServerVersion,
  admissionPolicies,
  rightsToInstall,
  nodesThere,
  otherLabelers,
  poolsAgree,
  clusterAutoscaler,
  karpenter,
  nodeReadinessRules,
  gitpodNamespace,
];

/** Of an installation. */
export const CHECKS: readonly Check[] = [
  isInstalled,
  someoneLeads,
  clocksAgree,
  apiServerVersion,
  admissionPolicies,
  agentsRun,
  agentsTolerate,
  oneVersion,
  oneConfiguration,
  coordinatorRights,
  policiesBound,
  ownNamespace,
  fenceAgrees,
  certificates,
  networkOpen,
  gitpodNamespace,
  nodeServicesAccepted,
  poolObjectsWatched,
  otherLabelers,
  poolsAgree,
  daemonSetsSelect,
  daemonSetsTolerateGate,
  clusterAutoscaler,
  karpenter,
  holdsAndExpiry,
  nodeReadinessRules,
];
