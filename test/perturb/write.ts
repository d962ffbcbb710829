/** Classifies requests that may change something. */

export type Write = {
  /** Says what is written, and how: the same in every run of a scenario. */
  readonly name: string;
  /** Whose name tells how many of it are to be expected. */
  readonly kind: 'node' | 'status' | 'event' | 'lease' | 'own';
};

type Json = Readonly<Record<string, unknown>>;

const HOW: Readonly<Record<string, string>> = {
  'application/apply-patch+yaml': 'apply',
  'application/merge-patch+json': 'merge',
  'application/json-patch+json': 'edit',
};

/**
 * Names a request. `undefined` for one that changes nothing (a read, a review, a rehearsal), and for the renewal of a Lease
 * by who has it, which comes by the clock. `holder` is whose the Lease is.
 */
export function writeOf(
  request: { method: string; url: string; contentType: string; body: string },
  holder: string | undefined,
): Write | undefined {
  const { method, contentType, body } = request;
  const url = new URL(request.url, 'http://api');
  if (method === 'GET' || url.searchParams.get('dryRun') !== null) return undefined;
  const parts = url.pathname.split('/').slice(1);
  const path = parts.slice(parts[0] === 'api' ? 2 : 3);
  if (path[0] === 'namespaces' && path.length > 2) path.splice(0, 2);
  const [resource = '', name = '', subresource] = path;
  if (resource.endsWith('reviews')) return undefined;
  const how = method === 'PATCH' ? (HOW[contentType] ?? 'patch') : method.toLowerCase();
  const object = body === '' ? {} : (JSON.parse(body) as Json);
  if (resource === 'leases') return leaseWrite(how, object, holder);
  if (resource === 'events') return { kind: 'event', name: eventName(how, object, name) };
  if (resource === 'nodes') return { kind: 'node', name: `${how} ${[name, subresource].filter(Boolean).join('/')}` };
  const kind = subresource === 'status' ? 'status' : 'own';
  return { kind, name: `${how} ${resource}/${name}${subresource ? `/${subresource}` : ''}` };
}

function leaseWrite(how: string, { spec }: Json, holder: string | undefined): Write | undefined {
  if (how !== 'put') return { kind: 'lease', name: `${how} lease` };
  const next = (spec as { holderIdentity?: string } | undefined)?.holderIdentity;
  if (!next) return { kind: 'lease', name: 'release lease' };
  return next === holder ? undefined : { kind: 'lease', name: 'take lease' };
}

/** Names of Events are random; those that tell it again are PATCHes. */
function eventName(how: string, { reason, involvedObject }: Json, name: string): string {
  const subject = (involvedObject as { kind?: string; name?: string } | undefined) ?? {};
  return how === 'post' ? `event ${String(reason)} of ${subject.name}` : `event again of ${name.split('.')[0]}`;
}
