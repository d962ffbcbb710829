import { parseArgs } from 'node:util';
import { describeError } from '@rollcall/common/coded-error.ts';
import { buildBundles } from '../../build.ts';
import { embeddedCluster, type RigCluster } from '../rig/cluster.ts';
import { NODE_PREFIX, outsideCluster } from './outside-cluster.ts';
import { plainScreen, type Screen, terminalScreen } from './screen.ts';
import { KEYS, runShow } from './show.ts';
import { Stage } from './stage.ts';
import { runTour } from './tour.ts';
import { untilStopped } from './until-stopped.ts';

const USAGE = `npm start [-- --once] [-- --kubeconfig FILE]

Runs rollcall on a real control plane and shows what it does.

  --once             make one tour, and exit with 0 only if every label came and went as it should
  --kubeconfig FILE  use this cluster instead of an embedded control plane
`;

type Options = { once: boolean; kubeconfig: string | undefined };

function readOptions(): Options | undefined {
  try {
    const { values } = parseArgs({
      options: { once: { type: 'boolean' }, kubeconfig: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
    if (!values.help) return { once: values.once ?? false, kubeconfig: values.kubeconfig };
    process.stdout.write(USAGE);
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n\n${USAGE}`);
    process.exitCode = 2;
  }
  return undefined;
}

function openCluster(kubeconfig: string | undefined, screen: Screen): Promise<RigCluster> {
  if (kubeconfig !== undefined) return outsideCluster(kubeconfig, screen);
  screen.log('starting etcd and kube-apiserver');
  return embeddedCluster();
}

async function play({ once, kubeconfig }: Options, stopped: Promise<string>): Promise<number> {
  const screen = process.stdout.isTTY && !once ? terminalScreen(process.stdout) : plainScreen(process.stdout);
  await buildBundles();
  const cluster = await openCluster(kubeconfig, screen);
  const outside = kubeconfig !== undefined;
  let stage: Stage | undefined;
  try {
    const namespace = outside ? 'rollcall' : 'default';
    const setting = Stage.set({ screen, cluster, prefix: outside ? NODE_PREFIX : '', namespace });
    const set = await Promise.race([setting, stopped]);
    if (typeof set === 'string') return 0;
    stage = set;
    screen.log(`look around with: ${cluster.lookAround}`);
    stage.footer = KEYS;
    if (!once) await runShow(stage, screen, process.stdin, stopped);
    const passed = once ? await Promise.race([runTour(stage, screen), stopped]) : true;
    return passed === true ? 0 : 1;
  } finally {
    screen.close();
    await stage?.rig.stop();
    await cluster.stop();
  }
}

const options = readOptions();
if (options) {
  const stopped = untilStopped();
  // Before there is anything to take down in order: whatever was started dies with this process.
  try {
    process.exit(await play(options, stopped));
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  }
}
