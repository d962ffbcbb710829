import { createService, listenOnLoopback, type ServiceKind } from './servers.ts';

/**
 * A program: serves as `node service-process.ts KIND BACKLOG [FILE]`, prints its port on standard output (0 at a file),
 * and ends with its parent.
 */
const [kind, backlog, file] = process.argv.slice(2);
const { port } = await listenOnLoopback(createService(kind as ServiceKind), { backlog: Number(backlog), file });
process.stdin.resume().on('end', () => process.exit());
process.stdout.write(`${port}\n`);
