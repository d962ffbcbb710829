import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { limitReads, openKeptSocket } from './kept-socket.ts';
import { askOnce, openLineFor, probeOf } from './testing/ask-once.ts';
import { eventually, within } from './testing/limits.ts';
import { temporaryDirectory } from './testing/local-files.ts';
import { closedTarget, createRawServer, createService, listenOnLoopback } from './testing/servers.ts';
import type { ProbeAddress } from './types.ts';

it('counts a connection that found no one but itself as refused', async () => {
  const { host, port } = await closedTarget();
  const socket = openKeptSocket({ host, port }, () => connect({ host, port, localPort: port, localAddress: host }));
  await eventually(() => expect(socket.errored).toMatchObject({ code: 'ECONNREFUSED' }));
});

describe('a peer that talks on a kept connection', () => {
  /** A connection to a peer that does this, and whether it has ended. */
  async function peer(handle: (socket: Socket) => void) {
    const server = await listenOnLoopback(createRawServer(handle));
    onTestFinished(server.close);
    const socket = openKeptSocket(server);
    onTestFinished(() => void socket.destroy());
    return { server, socket, limit: limitReads(socket) };
  }

  it('loses it when it sends more than 4 KiB without a question', async () => {
    const { socket } = await peer((each) => each.write(Buffer.alloc(5000)));
    await eventually(() => expect(socket.errored?.message).toBe('sent more than a probe reads'));
  });

  it('loses it for small pieces sooner', async () => {
    const { server, socket } = await peer((each) => {
      const timer = setInterval(() => each.write('x'), 1);
      each.setNoDelay(true).on('close', () => clearInterval(timer));
    });
    await eventually(() => expect(socket.errored?.message).toBe('sent more than a probe reads'));
    expect(socket.bytesRead).toBeLessThan(200);
    await eventually(() => expect(server.connections.size).toBe(0));
  });

  it('may send as much again after each round, and more in an answer', async () => {
    const { server, socket, limit } = await peer(() => {});
    await eventually(() => expect(server.connections.size).toBe(1));
    const [other] = server.connections;
    for (let round = 1; round <= 5; round += 1) {
      limit.rest();
      other?.write(Buffer.alloc(3000));
      await eventually(() => expect(socket.bytesRead).toBe(3000 * round));
    }
    limit.ask();
    other?.write(Buffer.alloc(50_000));
    await eventually(() => expect(socket.bytesRead).toBe(65_000));
    expect(socket.destroyed).toBe(false);
    limit.rest();
    other?.write(Buffer.alloc(5000));
    await eventually(() => expect(socket.destroyed).toBe(true));
  });

  it.each([
    ['tcp', 2],
    ['http2', 2],
    ['http', 1],
    ['grpc', 1],
  ] as const)('loses it whatever the kind of probe: %s', async (kind, connections) => {
    const server = await listenOnLoopback(createService(kind));
    onTestFinished(server.close);
    let lost = 0;
    const line = openLineFor(probeOf(kind))(() => {
      lost += 1;
    });
    onTestFinished(() => line.release());
    expect(await line.ask(server, within(5000), true)).toMatchObject({ verdict: 'healthy' });
    line.hold(server);
    await eventually(() => expect([server.accepted(), server.connections.size]).toEqual([connections, 1]));
    for (const socket of server.connections) socket.write(Buffer.alloc(8000));
    await eventually(() => expect(lost).toBe(1));
    await eventually(() => expect(server.connections.size).toBe(0));
  });
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe.runIf(hasOpenssl)('a peer that speaks TLS', () => {
  /** `openssl s_server` with an RSA certificate. */
  async function serve(flags: readonly string[], directory = temporaryDirectory()) {
    const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => path.join(directory, name));
    const selfSigned = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=x', '-days', '2'];
    execFileSync('openssl', [...selfSigned, '-keyout', String(key), '-out', String(certificate)], { stdio: 'ignore' });
    const { port } = await closedTarget();
    const server = spawn(
      'openssl',
      ['s_server', '-accept', `127.0.0.1:${port}`, '-key', String(key), '-cert', String(certificate), ...flags],
      { stdio: ['pipe', 'pipe', 'ignore'] },
    );
    onTestFinished(() => void server.kill('SIGKILL'));
    let output = '';
    server.stdout.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    await eventually(() => expect(output).toContain('ACCEPT'));
    const target: ProbeAddress = { host: '127.0.0.1', port };
    return { target, server };
  }

  it.each([
    ['TLS 1.2', (file: string) => ['-tls1_2', '-cipher', 'DHE:@SECLEVEL=0', '-dhparam', file]],
    ['TLS 1.3', () => ['-tls1_3', '-groups', 'ffdhe8192']],
  ])(
    'is not followed to a key exchange with a prime of 8,192 bits, which costs a second: %s',
    async (_version, flags) => {
      const directory = temporaryDirectory();
      const file = path.join(directory, 'prime.pem');
      const group = ['genpkey', '-genparam', '-algorithm', 'DH', '-pkeyopt', 'group:ffdhe8192', '-out', file];
      execFileSync('openssl', group, { stdio: 'ignore' });
      const { target } = await serve([...flags(file), '-www'], directory);
      const { verdict, evidence } = await askOnce({ kind: 'https' })(target, within(10_000));
      expect([verdict, evidence]).toEqual([
        'soft',
        expect.stringMatching(/ failed the probe \((EPROTO|\S*HANDSHAKE_FAILURE)\)$/),
      ]);
    },
  );

  it('is asked with a curve, in TLS 1.2 as well', async () => {
    const { target } = await serve(['-tls1_2', '-www']);
    const { verdict, evidence } = await askOnce({ kind: 'https' })(target, within(10_000));
    expect([verdict, evidence]).toEqual(['healthy', expect.stringMatching(/answered 200 as expected$/)]);
  });

  it('loses the connection for new keys without end', async () => {
    const { target, server } = await serve(['-tls1_3']);
    const probe = askOnce({ kind: 'https' })(target, within(20_000));
    const timer = setInterval(() => server.stdin.write('k\n'), 2);
    onTestFinished(() => clearInterval(timer));
    const { verdict, evidence } = await probe;
    expect([verdict, evidence]).toEqual(['soft', expect.stringMatching(/ sent more than a probe reads$/)]);
  });
});
