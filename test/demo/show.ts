import type { SimulatedNode } from '../rig/simulated-node.ts';
import type { StandInKind } from '../stand-ins/stand-in.ts';
import type { Screen } from './screen.ts';
import { SERVICES, type Stage } from './stage.ts';

const EVERY_MS = 60_000;

export const KEYS = 'keys: k kill a service, r revive, l kill the leader, q quit; something happens every minute';

type Place = { node: SimulatedNode; service: StandInKind };

/** Lets things happen, by keys and every minute, until `stopped`. Resolves when `q` is pressed, or stopped. */
export async function runShow(
  stage: Stage,
  screen: Screen,
  input: NodeJS.ReadStream,
  stopped: Promise<string>,
): Promise<string> {
  let busy: Promise<void> = Promise.resolve();
  /** One thing after the other; what fails is told, and the show goes on. */
  const act = (deed: () => Promise<void>) => {
    busy = busy.then(deed).catch((error: unknown) => screen.log(`failed: ${String(error)}`));
  };
  const timer = setInterval(() => act(() => (places(stage, false).length > 0 ? revive(stage) : kill(stage))), EVERY_MS);
  const redraw = setInterval(() => stage.draw(), 1000);
  const quit = new Promise<string>((resolve) => {
    if (!input.isTTY) return;
    input.setRawMode(true).setEncoding('utf8').resume();
    input.on('data', (key) => {
      // In raw mode Ctrl-C is a character, not a signal.
      if (String(key) === 'q' || String(key) === '\u0003') resolve('quit');
      if (String(key) === 'k') act(() => kill(stage));
      if (String(key) === 'r') act(() => revive(stage));
      if (String(key) === 'l') act(() => killLeader(stage, screen));
    });
  });
  const reason = await Promise.race([quit, stopped]);
  clearInterval(timer);
  clearInterval(redraw);
  if (input.isTTY) input.setRawMode(false).pause();
  await busy;
  return reason;
}

function places(stage: Stage, running: boolean): Place[] {
  return stage.rig.nodes.flatMap((node) =>
    SERVICES.filter((service) => node.runs(service) === running).map((service) => ({ node, service })),
  );
}

async function kill(stage: Stage): Promise<void> {
  const candidates = places(stage, true);
  const chosen = candidates[Math.floor(Math.random() * candidates.length)];
  if (chosen) await stage.kill(chosen.node, chosen.service);
}

async function revive(stage: Stage): Promise<void> {
  for (const { node, service } of places(stage, false)) await stage.revive(node, service);
}

async function killLeader(stage: Stage, screen: Screen): Promise<void> {
  const leader = await stage.rig.leader();
  screen.log(`${leader.name}: kill -9 the leader (pid ${leader.pid}); the other leads when the lease has run out`);
  await stage.rig.endCoordinator(leader, 'SIGKILL');
  await stage.rig.addCoordinator();
}
