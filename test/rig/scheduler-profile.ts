import { readFile } from 'node:fs/promises';
import path from 'node:path';

const PROFILE = path.resolve(import.meta.dirname, '../../deploy/scheduler/profile.yaml');

/** The configuration of kube-scheduler that is shipped, for a coordinator that answers on this loopback port. */
export async function schedulerProfile(port: number): Promise<string> {
  const yaml = await readFile(PROFILE, 'utf8');
  return yaml.replace('http://rollcall-coordinator.rollcall.svc:8888', `http://127.0.0.1:${port}`);
}
