import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/*
 * Loaded into a program before its own code (`--import`). At the socket SOAK_SOCKET it tells what only the process itself
 * knows, and steps its clock: to all of its JavaScript, `Date` is off by so much from then on. Timers are monotonic, and
 * OpenSSL asks the system, so certificates are judged by the right time.
 */
const RealDate = Date;
let offsetMs = 0;
const now = () => RealDate.now() + offsetMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const RESOLUTION_MS = 20;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
const { env } = process;
const path = env['SOAK_SOCKET'] ?? '';
rmSync(path, { force: true });
const server = createServer((socket) => {
  socket.unref();
  socket.on('error', () => {});
  socket.once('data', (text) => {
    const { clockOffsetMs = offsetMs } = JSON.parse(text.toString());
    offsetMs = clockOffsetMs;
    const lagMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
    collectGarbage();
    const heapMiB = process.memoryUsage().heapUsed / 1024 / 1024;
    const handles = process.getActiveResourcesInfo().length;
    delay.reset();
    socket.end(JSON.stringify({ lagMs, heapMiB, handles }));
  });
});
server.listen(path);
server.unref();
