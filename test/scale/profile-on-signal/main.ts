import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

/**
 * Loaded into a program before its own code (`--import`): SIGUSR2 begins a CPU profile, and the next one ends it and
 * writes it to the file PROFILE.
 */
const { env } = process;
const file = env['PROFILE'] ?? 'profile.cpuprofile';
const session = new Session();
session.connect();
session.post('Profiler.enable');
let isRunning = false;
process.on('SIGUSR2', () => {
  isRunning = !isRunning;
  if (isRunning) return session.post('Profiler.start');
  session.post('Profiler.stop', (_error, result) => {
    writeFileSync(`${file}.new`, JSON.stringify(result.profile));
    renameSync(`${file}.new`, file);
  });
});
