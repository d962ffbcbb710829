import { parseArgs } from 'node:util';
import { ensureBinaries } from './binaries.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';

const usage = `node test/control-plane/main.ts [--scheduler] [--audit-log] [--binaries-only]
Starts a control plane for trying things by hand, until Ctrl-C.
`;

const parentAskEveryMs = 500;

/** Resolves at Ctrl-C, at SIGTERM, or when the process that started us is gone (npm passes no SIGTERM on). */
function untilToldToStop(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid !== parent) stop();
    }, parentAskEveryMs);
    function stop(): void {
      clearInterval(timer);
      resolve();
    }
    process.once('SIGINT', stop).once('SIGTERM', stop);
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      scheduler: { type: 'boolean', default: false },
      'audit-log': { type: 'boolean', default: false },
      'binaries-only': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  if (values['binaries-only']) {
    for (const path of Object.values(await ensureBinaries())) process.stdout.write(`${path}\n`);
    return;
  }
  const told = untilToldToStop();
  const starting = startControlPlane({ scheduler: values.scheduler, auditLog: values['audit-log'] });
  const first = await Promise.race([starting, told]);
  // Told during the start: what was started so far goes with this process.
  if (first === undefined) return process.exit(0);
  await serve(first, told);
  process.exit(0);
}

async function serve(controlPlane: ControlPlane, told: Promise<void>): Promise<void> {
  process.stdout.write(`export KUBECONFIG=${controlPlane.kubeconfig}\n`);
  process.stdout.write(
    `kubectl is ${controlPlane.binaries.kubectl}; logs are in ${controlPlane.dir}; Ctrl-C stops it\n`,
  );
  await told;
  await controlPlane.stop();
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
