import { expect, test } from 'vitest';
import { problemWith } from './load.test-fixtures.ts';

const LOCAL = '--reports-listen=127.0.0.1:8443';
const PAIR = ['--tls-cert-file=/c', '--tls-key-file=/k'];

test.each([
  [['--tls-cert-file=/c'], '--tls-key-file: is missing: set both --tls-cert-file and --tls-key-file'],
  [['--tls-key-file=/k'], '--tls-cert-file: is missing: set both --tls-cert-file and --tls-key-file'],
  [['--tls=off', LOCAL, ...PAIR], '--tls: must be on if --tls-cert-file is set'],
  [
    ['--tls=off'],
    '--tls: must not be off while --reports-listen is [::]:8443, since agents would send their tokens unencrypted: ' +
      'set --reports-listen to a loopback address, or leave TLS on',
  ],
  [['--advertise-url=http://a:1'], '--advertise-url: must be https://HOST:PORT without a path, since --tls is on'],
  [['--advertise-url=https://a:1/b'], '--advertise-url: must be https://HOST:PORT without a path, since --tls is on'],
  [
    ['--tls=off', LOCAL, '--advertise-url=https://a:1'],
    '--advertise-url: must be http://HOST:PORT without a path, since --tls is off',
  ],
  [
    ['--scheduler-tls=on', '--tls=off', LOCAL],
    '--scheduler-tls: needs --tls=on and --reports-listen other than off, since it uses the certificate for reports',
  ],
  [
    ['--scheduler-tls=on', '--reports-listen=off'],
    '--scheduler-tls: needs --tls=on and --reports-listen other than off, since it uses the certificate for reports',
  ],
])('%j is refused', async (argv, problem) => {
  expect(await problemWith(...argv)).toBe(problem);
});

test.each([
  [[]],
  [PAIR],
  [['--tls=off', LOCAL]],
  [['--tls=off', '--reports-listen=off']],
  [['--tls=off', LOCAL, '--advertise-url=http://a:1']],
  [['--advertise-url=https://a:1']],
  [['--scheduler-tls=on']],
  [['--scheduler-tls=on', '--scheduler-client-ca-file=/ca']],
  [['--reports-listen=off']],
])('%j can be used', async (argv) => {
  expect(await problemWith(...argv)).toBeUndefined();
});
