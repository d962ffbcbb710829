import { CHECK_KINDS } from '@rollcall/common/checks/check-kinds.ts';
import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import type { GeneratedBlock } from '../blocks.ts';
import { GRANTS, LEASE_NAME } from './accounts.ts';

const RESOURCES = Object.values<WatchedResource>(WATCHED);

/** The rights to watch, in the coordinator's ClusterRole of the chart. */
export function watchRightsBlock(): GeneratedBlock {
  return {
    file: 'deploy/chart/templates/coordinator/rbac.yaml',
    name: 'watched',
    content: RESOURCES.filter(({ role }) => role === undefined)
      .flatMap(linesOf)
      .join('\n'),
  };
}

/** The rights to its own objects, in the coordinator's Role of the chart. */
export function ownRightsBlock(): GeneratedBlock {
  const own = GRANTS.filter(({ accounts, name }) => accounts.includes('coordinator') && name !== undefined);
  const lines = (condition: string | undefined) =>
    own
      .filter(({ when }) => when === condition)
      .map(
        ({ group, resource, name = '', verbs }) =>
          `  - { apiGroups: [${group || '""'}], resources: [${resource}], resourceNames: [${name === LEASE_NAME ? '{{ .Values.leaseName | quote }}' : name}], verbs: [${verbs.join(', ')}] }`,
      );
  return {
    file: 'deploy/chart/templates/coordinator/rbac.yaml',
    name: 'own',
    content: [
      ...lines(undefined),
      '  {{- if and (not .Values.tls.secretName) (or .Values.agent.enabled .Values.scheduler.enabled) }}',
      ...lines('not tls.secretName'),
      '  {{- end }}',
    ].join('\n'),
  };
}

/** The rules of the Roles by which the coordinator watches in single namespaces, by the last word of their names. */
export function watchRoles(): Record<string, object[]> {
  const of = (wanted: string) =>
    RESOURCES.filter(({ role }) => role === wanted)
      .flatMap(rulesOf)
      .map(([group, resource, verbs]) => ({ apiGroups: [group], resources: [resource], verbs }));
  return Object.fromEntries(RESOURCES.flatMap(({ role }) => (role ? [[role, of(role)]] : [])));
}

/** How the terms of rules begin that ask for a resource, by resource. */
export function watchTerms(): Record<string, string> {
  return Object.fromEntries(RESOURCES.flatMap(({ resource, term }) => (term ? [[resource, term]] : [])));
}

/** The resources that are granted only where values ask for them, by the kinds of checks that do. */
export function watchKinds(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(CHECK_KINDS).flatMap(([kind, { watched }]) => {
      const { term, resource }: Partial<WatchedResource> = watched ? WATCHED[watched] : {};
      return term === undefined || resource === undefined ? [] : [[kind, resource]];
    }),
  );
}

/** Group, resource and verbs of each rule. */
function rulesOf({ group, resource, verbs, hasStatus }: WatchedResource): [string, string, readonly string[]][] {
  const watch: [string, string, readonly string[]] = [group, resource, verbs];
  return hasStatus ? [watch, [group, `${resource}/status`, ['patch']]] : [watch];
}

function linesOf(watched: WatchedResource): string[] {
  const rules = rulesOf(watched).map(
    ([group, name, verbs]) =>
      `  - { apiGroups: [${group || '""'}], resources: [${name}], verbs: [${verbs.join(', ')}] }`,
  );
  if (watched.when === 'gate') return ['  {{- if .Values.startupGate.daemonSets.enabled }}', ...rules, '  {{- end }}'];
  return watched.term ? [`  {{- if has "${watched.resource}" $resources }}`, ...rules, '  {{- end }}'] : rules;
}
