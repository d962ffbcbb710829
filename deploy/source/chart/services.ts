import { NODE_HOLD_SPEC } from '@rollcall/common/checks/node-hold-spec.ts';
import { NODE_SERVICE_SPEC } from '@rollcall/common/checks/node-service-spec.ts';
import { closed, DNS_SUBDOMAIN } from './kubernetes.ts';
import type { Entries, Schema } from './value.ts';

/** NodeServices of the release. No name of an object has a capital letter, as `allowedPrefixes` has. */
export const NODE_SERVICES: Entries = {
  pattern: DNS_SUBDOMAIN,
  help: 'All other keys are names of NodeServices, each with its spec: {registry-mirror: {checks: [{name: port, http: {port: 5000}}]}}.',
  schema: fromCrd(NODE_SERVICE_SPEC),
};

/** NodeHolds of the release. */
export const NODE_HOLDS: Entries = {
  pattern: DNS_SUBDOMAIN,
  help: 'Keys are names of NodeHolds, each with its spec: {builds: {pods: {namespace: ci, selector: {matchLabels: {app: runner}}}}}.',
  schema: fromCrd(NODE_HOLD_SPEC),
};

/** What a CRD says of a field, as a JSON schema: without what only an API server knows, and closed. */
function fromCrd(schema: Schema): Schema {
  const entries = Object.entries(schema).filter(([keyword]) => !keyword.startsWith('x-') && keyword !== 'format');
  const { properties, items, additionalProperties, ...rest } = Object.fromEntries(entries);
  // An object without fields, since a CRD has no empty properties.
  const isEmpty = rest['type'] === 'object' && !additionalProperties;
  const fields = (properties ?? (isEmpty ? {} : undefined)) as Record<string, Schema> | undefined;
  return {
    ...rest,
    ...(items ? { items: fromCrd(items as Schema) } : {}),
    ...(additionalProperties ? { additionalProperties: fromCrd(additionalProperties as Schema) } : {}),
    ...(fields ? closed(mapValues(fields)) : {}),
  };
}

function mapValues(properties: Readonly<Record<string, Schema>>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, fromCrd(each)]));
}
