import { readFile } from 'node:fs/promises';
import path from 'node:path';

const SHIPPED = path.resolve(import.meta.dirname, '../../deploy/scheduler/second-scheduler.yaml');

/**
 * The configuration of kube-scheduler that is recommended, for a coordinator that answers on this loopback port. It also
 * serves the profile `default-scheduler`, and needs no Lease.
 */
export async function schedulerProfile(port: number): Promise<string> {
  const yaml = await readFile(SHIPPED, 'utf8');
  return yaml
    .replace('http://rollcall-coordinator.rollcall.svc:8888', `http://127.0.0.1:${port}`)
    .replace('leaderElect: true', 'leaderElect: false')
    .replace('profiles:\n', 'profiles:\n  - schedulerName: default-scheduler\n');
}
