import { NODE_SERVICE_SPEC } from '@rollcall/common/checks/node-service-spec.ts';
import { problemIn, readBy } from '@rollcall/common/checks/schema.ts';
import { SERVICE_LABEL_PREFIX } from '@rollcall/common/well-known.ts';
import type { NodeService } from '../../kube/objects.ts';
import type { Publication, Service } from '../../model/services.ts';
import { readChecks, type WrittenCheck } from './written-checks.ts';

/** A NodeService as it is written, and what was said of it. */
export type ObservedNodeService = {
  uid: string;
  name: string;
  generation: number;
  /** By the wall clock, in milliseconds since the epoch. */
  createdAtMs: number;
  /** What it asks for. */
  service: Service;
  /** The first field of its spec that this version does not know, or whose value it does not know. */
  unknownField: string | undefined;
  /** As last seen or written; its form is not validated here. */
  status: unknown;
};

/** A spec as its schema reads it. */
type Spec = Pick<Service, 'nodeSelector' | 'mode' | 'startupDeadlineMs'> & {
  checks?: readonly WrittenCheck[];
  publish?: Publication;
  dryRun?: boolean;
};

/** Trims a NodeService. The API server checked its schema, which may be the schema of a newer version. */
export function observeNodeService({ metadata, spec = {}, status }: NodeService): ObservedNodeService {
  const { uid, name, generation = 0 } = metadata;
  const createdAtMs = Date.parse(metadata.creationTimestamp ?? '') || 0;
  const unknown = problemIn(NODE_SERVICE_SPEC, spec, 'spec');
  const { checks = [], publish, dryRun = false, ...read } = readBy(NODE_SERVICE_SPEC, spec) as Spec;
  const publication = publish ? readPublication(publish) : { label: `${SERVICE_LABEL_PREFIX}${name}` };
  const sinceMs = inForceSinceMs({ createdAtMs, status });
  const service: Service = {
    name,
    ...read,
    // What is not understood is refused, and nothing is made of it.
    checks: unknown === undefined ? readChecks(name, checks) : [],
    publish: dryRun ? {} : publication,
    ...(dryRun ? { dryRun: publication } : {}),
    origin: {
      kind: 'object',
      uid,
      generation,
      createdAtMs,
      ...(sinceMs === createdAtMs ? {} : { inForceSinceMs: sinceMs }),
    },
  };
  return { uid, name, generation, createdAtMs, service, unknownField: unknown, status };
}

/**
 * When a NodeService came into force, by its status: what closes a node is no older. Without a status, at its creation;
 * infinite while the status says that it is refused or a dry run.
 */
export function inForceSinceMs({ createdAtMs, status }: Pick<ObservedNodeService, 'createdAtMs' | 'status'>): number {
  const { observedGeneration, inForceSince } = (status ?? {}) as {
    observedGeneration?: unknown;
    inForceSince?: unknown;
  };
  if (observedGeneration === undefined) return createdAtMs;
  const sinceMs = typeof inForceSince === 'string' ? Date.parse(inForceSince) : Number.NaN;
  return Number.isNaN(sinceMs) ? Number.POSITIVE_INFINITY : sinceMs;
}

function readPublication({ label, taint, condition }: Publication): Publication {
  return {
    ...(label === undefined ? {} : { label }),
    ...(condition === undefined ? {} : { condition }),
    ...(taint ? { taint: { ...taint, value: taint.value ?? '' } } : {}),
  };
}
