import { expect, test } from 'vitest';
import { exchange } from '../cluster/exchange.ts';
import { kubeConfigFile, run, runLine } from '../testing/run.test-fixtures.ts';

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/rollcall/leases/rollcall-coordinator';
const cluster = { [LEASE]: { spec: { holderIdentity: 'c-1_abc' } }, '/api/v1/namespaces/rollcall/pods/c-1': {} };

test('console with a URL prints it, and ends', async () => {
  const { text, notes, exitCode } = await run(['console', '--no-browser'], {});
  expect(text).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\n$/);
  expect(notes).toBe('');
  expect(exitCode).toBe(0);
});

test('console without one passes a port on until it is stopped', async () => {
  const stop = new AbortController();
  const printed = Promise.withResolvers<string>();
  const kubeconfig = await kubeConfigFile(cluster);
  const ran = runLine(['console', '--no-browser', `--kubeconfig=${kubeconfig}`], {
    signal: stop.signal,
    onPrint: printed.resolve,
  });
  const url = (await printed.promise).trim();
  const ask = () => exchange(new URL(url), { timeoutMs: 5000 });
  // It listens, and has no server to pass the request on to.
  await expect(ask()).rejects.toThrow('socket hang up');
  const port = new URL(url).port;
  await expect(runLine(['console', '--port', port, `--kubeconfig=${kubeconfig}`])).rejects.toThrow(
    `Cannot listen on port ${port}`,
  );
  stop.abort();
  const { notes, exitCode } = await ran;
  expect(notes).toBe('The page can be reached at this address until you press Ctrl-C.\n');
  expect(exitCode).toBe(0);
  await expect(ask()).rejects.toThrow('ECONNREFUSED');
});
