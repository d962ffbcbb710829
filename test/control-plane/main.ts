import { parseArgs } from 'node:util';
import { ensureBinaries } from './binaries.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { untilStopped } from './until-stopped.ts';

const usage = `node test/control-plane/main.ts [--scheduler] [--audit-log] [--binaries-only]
Starts a control plane for trying things by hand, until Ctrl-C.
`;

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
  const told = untilStopped();
  const starting = startControlPlane({ scheduler: values.scheduler, auditLog: values['audit-log'] });
  const first = await Promise.race([starting, told]);
  // Told during the start: what was started so far goes with this process.
  if (typeof first === 'string') return process.exit(0);
  await serve(first, told);
  process.exit(0);
}

async function serve(controlPlane: ControlPlane, told: Promise<string>): Promise<void> {
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
