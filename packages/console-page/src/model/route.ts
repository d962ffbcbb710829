/** What the page shows; kept behind the `#` of its address, so that a view can be sent to a colleague. */
export type Route =
  | { view: 'fleet' }
  | { view: 'services' }
  | { view: 'plan' }
  | { view: 'ledger' }
  | { view: 'node'; name: string }
  | { view: 'service'; name: string };

export function routeOf(hash: string): Route {
  const [, view = '', name] = /^#\/([a-z]+)(?:\/(.+))?$/.exec(hash) ?? [];
  if ((view === 'node' || view === 'service') && name !== undefined) return { view, name: decoded(name) };
  if (view === 'services' || view === 'plan' || view === 'ledger') return { view };
  return { view: 'fleet' };
}

export function hashOf(route: Route): string {
  return 'name' in route ? `#/${route.view}/${encodeURIComponent(route.name)}` : `#/${route.view}`;
}

/** The user may have typed an invalid encoding. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
