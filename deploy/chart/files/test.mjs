// What `helm test` runs: waits until a coordinator leads and hears agents, and tells how it stands. It has no rights: any
// connection to the Service may reach the leader or a standby, so it asks until the leader answers.
import { Agent, request } from 'node:http';

const { ROLLCALL_COORDINATOR_SERVICE_HOST: host, ROLLCALL_COORDINATOR_SERVICE_PORT_METRICS: port } = process.env;
const { TIMEOUT_MS = 60_000 } = process.env;
/** As many agents as are replaced at once. A node that fails is no fault of the release. */
const SILENT_SHARE = 0.1;
const deadlineMs = Date.now() + Number(TIMEOUT_MS);

function metrics() {
  const options = { host, port, path: '/metrics', agent: new Agent({ keepAlive: false }), timeout: 5000 };
  return new Promise((resolve, reject) => {
    const asked = request(options, async (response) => resolve((await response.toArray()).join('')));
    asked.on('timeout', () => asked.destroy(new Error('no answer')));
    asked.on('error', reject).end();
  });
}

async function look() {
  const lines = (await metrics()).split('\n');
  const valueOf = (line) => Number(line.slice(line.lastIndexOf(' ')));
  const leads = lines.filter((line) => /^rollcall_coordinator_leader[ {]/.test(line)).some((line) => valueOf(line) === 1);
  if (!leads) return { works: false, says: 'no leader answered yet' };
  const nodes = lines.flatMap((line) => {
    const state = /^rollcall_coordinator_nodes\{.*state="(\w+)"/.exec(line)?.[1];
    return state && valueOf(line) > 0 ? [{ state, count: valueOf(line) }] : [];
  });
  const countOf = (...states) => nodes.reduce((sum, { state, count }) => sum + (states.includes(state) ? count : 0), 0);
  const says = `a coordinator leads; agents of nodes: ${nodes.map(({ state, count }) => `${count} ${state}`).join(', ') || 'none yet'}`;
  const [heard, missing] = [countOf('fresh'), countOf('silent', 'unheard')];
  if (nodes.length > 0 && nodes.every(({ state }) => state === 'none')) return { works: true, says: 'a coordinator leads, without agents' };
  return { works: heard > 0 && missing <= SILENT_SHARE * (heard + missing), says };
}

for (;;) {
  const { works, says } = await look().catch((error) => ({ works: false, says: error.message }));
  if (works || Date.now() > deadlineMs) {
    console.log(works ? `rollcall works: ${says}` : `rollcall does not work yet: ${says}`);
    process.exit(works ? 0 : 1);
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
}
