import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import type { GeneratedBlock } from '../blocks.ts';

/** The rights to watch, in the coordinator's ClusterRole of the chart. */
export function watchRightsBlock(): GeneratedBlock {
  const watched = Object.values<WatchedResource>(WATCHED).filter(({ byNamespace }) => !byNamespace);
  return {
    file: 'deploy/chart/templates/coordinator/rbac.yaml',
    name: 'watched',
    content: watched.flatMap(linesOf).join('\n'),
  };
}

function linesOf({ group, resource, verbs, hasStatus, when }: WatchedResource): string[] {
  const rule = (name: string, of: readonly string[]) =>
    `  - { apiGroups: [${group || '""'}], resources: [${name}], verbs: [${of.join(', ')}] }`;
  const rules = [rule(resource, verbs), ...(hasStatus ? [rule(`${resource}/status`, ['patch'])] : [])];
  return when === 'gitpod' ? ['  {{- if .Values.gitpod.enabled }}', ...rules, '  {{- end }}'] : rules;
}
