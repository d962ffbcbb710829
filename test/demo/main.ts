import { parseArgs } from 'node:util';
import { describeError } from '@rollcall/common/coded-error.ts';
import { buildBundles } from '../../build.ts';
import { CRDS } from '../../deploy/source/manifests/files.ts';
import { untilStopped } from '../control-plane/until-stopped.ts';
import { embeddedCluster, type RigCluster } from '../rig/cluster.ts';
import { NODE_PREFIX, outsideCluster } from './outside-cluster.ts';
import { plainScreen, type Screen, terminalScreen } from './screen.ts';
import { ShellTools } from './shell-tools.ts';
import { KEYS, runShow } from './show.ts';
import { Stage } from './stage.ts';
import { runTour } from './tour.ts';

const USAGE = `npm start [-- --once] [-- --kubeconfig FILE]

Runs rollcall on a real control plane and shows what it does.

  --once             make one tour, and exit with 0 only if every label came and went as it should
  --kubeconfig FILE  use this cluster instead of an embedded control plane
`;

const CRD_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Exit status of a shell after Ctrl-C. */
const STOPPED_EARLY = 130;

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

async function openCluster(kubeconfig: string | undefined, screen: Screen): Promise<RigCluster> {
  if (kubeconfig !== undefined) return outsideCluster(kubeconfig, screen);
  screen.log('starting etcd and kube-apiserver');
  const cluster = await embeddedCluster();
  // For the tutorial.
  await Promise.all(CRDS.map(({ object }) => cluster.api.post(CRD_PATH, object)));
  return cluster;
}

/** Whatever was started and is not taken down in order, because a stop came early, dies with this process. */
async function play({ once, kubeconfig }: Options, stopped: Promise<string>): Promise<number> {
  const screen = process.stdout.isTTY && !once ? terminalScreen(process.stdout) : plainScreen(process.stdout);
  const opened = await Promise.race([buildBundles().then(() => openCluster(kubeconfig, screen)), stopped]);
  if (typeof opened === 'string') return STOPPED_EARLY;
  const outside = kubeconfig !== undefined;
  const prefix = outside ? NODE_PREFIX : '';
  const setting = Stage.set({ screen, cluster: opened, prefix, namespace: outside ? 'rollcall' : 'default' });
  try {
    const stage = await Promise.race([setting, stopped]);
    if (typeof stage === 'string') return STOPPED_EARLY;
    const { consoleUrl } = await stage.rig.leader();
    const tools = await ShellTools.write(opened);
    tools.ask(consoleUrl);
    stage.onLeader = (leader) => tools.ask(leader.consoleUrl);
    screen.log(`look around with: ${opened.kubectlPath} --kubeconfig ${opened.kubeconfig} get nodes --show-labels`);
    screen.log(`use kubectl in another terminal: . ${tools.file}`);
    screen.log(`watch it in a browser: ${consoleUrl}`);
    stage.footer = `${consoleUrl}  ${KEYS}`;
    try {
      if (once) return (await Promise.race([runTour(stage, screen), stopped])) === true ? 0 : 1;
      screen.log(`stopping: ${await runShow(stage, screen, process.stdin, stopped)}`);
      return 0;
    } finally {
      await tools.remove();
      await stage.rig.stop();
    }
  } finally {
    await opened.stop();
  }
}

const options = readOptions();
if (options) {
  const stopped = untilStopped();
  try {
    process.exit(await play(options, stopped));
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exit(1);
  }
}
