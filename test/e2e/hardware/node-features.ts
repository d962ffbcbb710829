import type { ApiClient, KubeObject } from '../../control-plane/api-client.ts';
import { waitFor } from '../../control-plane/wait-for.ts';

export const NODE_FEATURES = '/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/default/nodefeatures';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CRD = 'nodefeatures.nfd.k8s-sigs.io';

const texts = { type: 'object', additionalProperties: { type: 'string' } };
const setsOf = (elements: object) => ({
  type: 'object',
  additionalProperties: { type: 'object', required: ['elements'], properties: { elements } },
});
const features = {
  type: 'object',
  properties: {
    flags: setsOf({ type: 'object', additionalProperties: { type: 'object' } }),
    attributes: setsOf(texts),
    instances: setsOf({ type: 'array', items: { type: 'object', properties: { attributes: texts } } }),
  },
};

/** The CRD in the shape that NFD gives it. */
export async function installNodeFeatures(api: ApiClient): Promise<void> {
  const spec = { type: 'object', properties: { features, labels: texts } };
  const openAPIV3Schema = { type: 'object', required: ['spec'], properties: { spec } };
  await api.post(CRDS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: CRD },
    spec: {
      group: 'nfd.k8s-sigs.io',
      names: { kind: 'NodeFeature', listKind: 'NodeFeatureList', plural: 'nodefeatures', singular: 'nodefeature' },
      scope: 'Namespaced',
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  });
  await waitFor('NodeFeatures to be served', () => api.list(NODE_FEATURES).catch(() => undefined));
}

/** With all NodeFeatures. */
export async function removeNodeFeatures(api: ApiClient): Promise<void> {
  await api.delete(`${CRDS}/${CRD}`);
  const isGone = () =>
    api.list(NODE_FEATURES).then(
      () => false,
      () => true,
    );
  await waitFor('NodeFeatures to be gone', isGone);
}

type Features = {
  flags?: Record<string, readonly string[]>;
  attributes?: Record<string, Record<string, string>>;
  instances?: Record<string, readonly Record<string, string>[]>;
};

/** A NodeFeature of a node, as NFD's worker writes it; with another name, of another source. */
export function nodeFeature(
  node: string,
  { flags = {}, attributes = {}, instances = {} }: Features,
  name = node,
): KubeObject {
  const elementsOf = <T, E>(sets: Record<string, T>, toElements: (set: T) => E) =>
    Object.fromEntries(Object.entries(sets).map(([set, all]) => [set, { elements: toElements(all) }]));
  return {
    apiVersion: 'nfd.k8s-sigs.io/v1alpha1',
    kind: 'NodeFeature',
    metadata: { name, labels: { 'nfd.node.kubernetes.io/node-name': node } },
    spec: {
      features: {
        flags: elementsOf(flags, (names) => Object.fromEntries(names.map((each) => [each, {}]))),
        attributes: elementsOf(attributes, (all) => all),
        instances: elementsOf(instances, (all) => all.map((each) => ({ attributes: each }))),
      },
    },
  };
}
