import { parseArgs } from 'node:util';
import { untilStopped } from '../control-plane/until-stopped.ts';
import { findObstacle } from './machine.ts';
import { startRealCluster } from './real-cluster.ts';

const usage = `node test/real-node/main.ts [--nodes 2]
Starts a cluster of real nodes for trying things by hand, until Ctrl-C. Needs root.
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { nodes: { type: 'string', default: '2' }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const obstacle = await findObstacle();
  if (obstacle !== undefined) throw new Error(`No nodes on this machine: ${obstacle}`);
  const told = untilStopped();
  const starting = startRealCluster({ nodes: Number(values.nodes) });
  await Promise.race([starting, told]);
  const cluster = await starting;
  process.stdout.write(`export KUBECONFIG=${cluster.kubeconfig}\n`);
  for (const { name, ip, pid } of cluster.nodes) {
    process.stdout.write(
      `${name} is ${ip}; nsenter --target ${pid} --mount --net --pid --uts --ipc is a shell in it\n`,
    );
  }
  process.stdout.write(`Logs are in ${cluster.dir}; Ctrl-C stops it\n`);
  await told;
  await cluster.stop();
  process.exit(0);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
