import { readFileSync } from 'node:fs';
import path from 'node:path';
import { WATCHED, type WatchedResource } from '@rollcall/common/watched-resources.ts';
import { expect, test } from 'vitest';
import { ROOT } from '../tidy/sources.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

/** `nodes.GROUP` and their verbs, of each rule of the ClusterRole in the chart. */
function rules(): { resource: string; verbs: string }[] {
  const role = read('deploy/chart/templates/coordinator/rbac.yaml').split('\n---\n')[0] ?? '';
  const RULE = /apiGroups: \[([^\]]*)\], resources: \[([^\]]*)\], verbs: \[([^\]]*)\]/g;
  return [...role.matchAll(RULE)].flatMap(([, group = '', resources = '', verbs = '']) =>
    resources.split(', ').map((resource) => {
      const [name = '', sub] = resource.split('/');
      // The documents leave the group of a subresource to the resource.
      const full = sub || group === '""' ? resource : `${name}.${group}`;
      return { resource: full, verbs: verbs.replaceAll(', ', ',') };
    }),
  );
}

/** The same of the Roles by which it watches. */
const OF_ROLES = Object.values<WatchedResource>(WATCHED)
  .filter(({ role }) => role)
  .flatMap(({ group, resource, verbs, hasStatus }) => [
    { resource: group ? `${resource}.${group}` : resource, verbs: verbs.join() },
    ...(hasStatus ? [{ resource: `${resource}/status`, verbs: 'patch' }] : []),
  ]);

test('packages/docs/how-to/install.md names every right of the coordinator in the cluster, and to watch, with its verbs', () => {
  const paragraph =
    read('packages/docs/how-to/install.md')
      .split('\n')
      .find((line) => line.startsWith('The rights of the coordinator')) ?? '';
  const parts = paragraph.split(/;|, and /);
  const missing = [...rules(), ...OF_ROLES].filter(({ resource, verbs }) => {
    const word = new RegExp(`(^|[\\s\`])${resource.replaceAll('.', '\\.')}[\\s\`]`);
    return !parts.some((part) => word.test(part) && part.includes(`\`${verbs}\``));
  });
  expect(rules().length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});
