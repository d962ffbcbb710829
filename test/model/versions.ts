import type { ServiceName } from './truth.ts';

/** Versions of agents, and the services and ports that each reports as not ready although they are. */
export const VERSIONS: Readonly<Record<string, readonly (ServiceName | number)[]>> = {
  '1': [],
  '2': [],
  '3': ['ws-daemon'],
  '4': ['ws-daemon', 'registry-facade', 1001],
  '5': [1001],
};

/** Whether an agent of this version sees the service or port where it is ready. */
export function sees(version: string | undefined, what: ServiceName | number): boolean {
  return !VERSIONS[version ?? '1']?.includes(what);
}
