import { WITHDRAWN_LABELS_ANNOTATION } from '@rollcall/common/well-known.ts';
import type { Cause } from '../../model/inventory/cause.ts';
import { selects } from '../../model/label-selector.ts';
import type { Service } from '../../model/services.ts';
import { objectIn, parseAnnotation, textsIn } from '../../state/json-annotation.ts';
import { isOfRule, isOfService, keysOn, listedKey, type Origin } from '../../state/node-keys.ts';
import type { Rules } from './implied-labels.ts';
import { type Claim, type Consequence, type EvaluatedNode, type LabelWishes, labelAfter, ownNote } from './labeler.ts';

/** A label that rollcall takes: why it had set it, and why it takes it; `undefined` where that is not known. */
export type WithdrawnLabel = { label: string; origin: Origin | undefined; cause: Cause | undefined };

/**
 * Beside the labels, and no key of a label: those of them that are of services, each with whether pods may be evicted from the
 * node because of it.
 */
const SERVICES = '/services';

/** Far more than a node loses at a time. Of more, those that went last are kept. */
const ENTRIES_MAX = 50;

export type WithdrawnLabelsOptions = {
  isIgnored: (withdrawn: WithdrawnLabel) => boolean;
  services: () => readonly Service[];
  rules: (() => Pick<Rules, 'dependents'>) | undefined;
  /** Whether the budget of a service that fails on a node has a place for it. */
  hasEvictionPlace: (service: Service, node: EvaluatedNode) => boolean;
};

/**
 * Notes on the node which labels rollcall took from it, and the values that they had, the latest last, until they are
 * back: the evictions because of them have to continue after a restart. No pod is evicted for labels that are ignored, nor
 * for the label of a service that no service in force requests on the node: it is struck out by the write that drops it from
 * the list of keys. The note tells which labels are of services, since a person may remove that list, and which of them have
 * a place in the budget of evictions: it is taken until the label is back, whoever leads.
 */
export function withdrawnLabels({ isIgnored, services, rules, hasEvictionPlace }: WithdrawnLabelsOptions): Consequence {
  return {
    name: 'withdrawn-labels',
    claims: (node, wishes): Claim[] => {
      const listed = keysOn(node);
      const noted = labelsOfServices(node.annotations[WITHDRAWN_LABELS_ANNOTATION]);
      // A service may have come, or gone, since the label was listed.
      const originsOf = (key: string) => [listed.get(listedKey('label', key)), wishes.get(key)?.origin];
      const isOfServices = (key: string, some: readonly Service[]) => {
        const published = some.flatMap(({ publish }) => publish.label ?? []);
        return published.includes(key) || rules?.().dependents(published).has(key) === true;
      };
      const isNoted = (key: string) => {
        const cause = wishes.get(key)?.cause;
        const origins = originsOf(key);
        if (origins.some((origin) => isIgnored({ label: key, origin, cause }))) return false;
        const all = services();
        if (!node.servicesKnown || !(origins.some(isOfService) || noted.has(key) || isOfServices(key, all)))
          return true;
        return isOfServices(
          key,
          all.filter(({ nodeSelector }) => selects(nodeSelector, node.labels)),
        );
      };
      const entries = [...withdrawnFrom(node, wishes)].filter(([key]) => isNoted(key)).slice(-ENTRIES_MAX);
      const ofServices = entries.flatMap(([key]) => {
        const own = services().filter(({ publish }) => publish.label === key);
        const isOfOne = own.length > 0 || originsOf(key).some((origin) => isOfService(origin) && !isOfRule(origin));
        const isPlaced = noted.get(key) === true || own.some((service) => hasEvictionPlace(service, node));
        return isOfOne || noted.has(key) ? [[key, isPlaced]] : [];
      });
      const note = {
        ...Object.fromEntries(entries),
        ...(ofServices.length > 0 ? { [SERVICES]: Object.fromEntries(ofServices) } : {}),
      };
      const value = entries.length > 0 ? JSON.stringify(note) : undefined;
      const reason = value
        ? 'lists the labels that rollcall removed from the node'
        : 'every label that was removed is back';
      return ownNote(node, WITHDRAWN_LABELS_ANNOTATION, { value, reason });
    },
  };
}

/** The labels noted in the annotation; none where it cannot be read. */
export function parseWithdrawnLabels(text: string | undefined): Record<string, string> {
  return Object.fromEntries(textsIn(parseAnnotation(text)).filter(([key]) => key !== SERVICES));
}

/** The labels of services in the annotation, each with whether pods may be evicted from the node because of it. */
export function labelsOfServices(text: string | undefined): ReadonlyMap<string, boolean> {
  if (!text?.includes(SERVICES)) return NO_LABELS;
  const noted = Object.entries(objectIn(objectIn(parseAnnotation(text))[SERVICES]));
  return new Map(noted.map(([label, isPlaced]) => [label, isPlaced === true]));
}

const NO_LABELS: ReadonlyMap<string, boolean> = new Map();

/**
 * The noted and the newly removed labels. A wanted label that is not back yet stays noted, since another writer may
 * stand in the way.
 */
function withdrawnFrom(node: EvaluatedNode, wishes: LabelWishes): Map<string, string> {
  const noted = Object.entries(parseWithdrawnLabels(node.annotations[WITHDRAWN_LABELS_ANNOTATION]));
  const taken = Object.entries(node.takenLabels ?? {});
  const withdrawn = new Map([...noted, ...taken].filter(([key, value]) => node.labels[key] !== value));
  for (const key of keysOfOurs(node, wishes)) {
    const value = node.labels[key];
    if (value === undefined || labelAfter(node, wishes, key) === value) continue;
    withdrawn.delete(key);
    withdrawn.set(key, value);
  }
  return withdrawn;
}

function* keysOfOurs({ ownedLabels }: EvaluatedNode, wishes: LabelWishes): Iterable<string> {
  yield* ownedLabels;
  for (const [key, { ownership }] of wishes) if (ownership === 'exclusive' && !ownedLabels.has(key)) yield key;
}
