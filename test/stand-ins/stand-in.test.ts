import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { createCertificateAuthority } from '../control-plane/certificates.ts';
import { isAlive } from '../control-plane/file-lock.ts';
import { waitFor } from '../control-plane/wait-for.ts';
import { type StandIn, type StandInKind, type StandInOptions, startStandIn } from './stand-in.ts';

const probePath = '/v2/remote/not-a-valid-image/manifests/latest';
const started: StandIn[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(started.splice(0).map((standIn) => standIn.stop()));
});

async function start(kind: StandInKind, options?: StandInOptions): Promise<StandIn> {
  const standIn = await startStandIn(kind, options);
  started.push(standIn);
  return standIn;
}

async function dial(standIn: StandIn): Promise<Socket> {
  const socket = connect({ host: standIn.host, port: standIn.port, allowHalfOpen: true });
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** The status of one request, or the code of the error. */
function get(
  standIn: StandIn,
  path = probePath,
  agent = new Agent({ keepAlive: false }),
  ca?: string,
): Promise<number | string> {
  return new Promise((resolve) => {
    const options = { host: standIn.host, port: standIn.port, path, agent, timeout: 1_000 };
    const trust = ca === undefined ? { rejectUnauthorized: false } : { ca, servername: 'registry-facade' };
    const outgoing = request({ ...options, ...trust }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('timeout'), { code: 'TIMEOUT' })));
    outgoing.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    outgoing.end();
  });
}

/** What became of a connection within a time: `end`, an error code, or `open`. */
async function fate(socket: Socket, withinMs = 5_000): Promise<string> {
  socket.resume();
  const timer = new AbortController();
  const ended = once(socket, 'end', { signal: timer.signal }).then(
    () => 'end',
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );
  const waited = new Promise<string>((resolve) => setTimeout(() => resolve('open'), withinMs));
  const result = await Promise.race([ended, waited]);
  timer.abort();
  return result;
}

describe('ws-daemon stand-in', () => {
  it('keeps a connection open in silence', async () => {
    const standIn = await start('ws-daemon');
    const socket = await dial(standIn);
    expect(await fate(socket, 400)).toBe('open');
    expect(socket.bytesRead).toBe(0);
    expect(await standIn.stats()).toEqual({ accepted: 1, open: 1, requests: 0 });
  });

  it('refuses connections, hangs up on open ones, and listens on the same port again', async () => {
    const standIn = await start('ws-daemon');
    const socket = await dial(standIn);
    const closed = fate(socket);
    await standIn.fault('refuse');
    expect(['end', 'ECONNRESET']).toContain(await closed);
    await expect(dial(standIn)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await standIn.fault('none');
    expect(await fate(await dial(standIn), 400)).toBe('open');
  });

  it('resets open and new connections', async () => {
    const standIn = await start('ws-daemon');
    const open = fate(await dial(standIn));
    await standIn.fault('reset');
    expect(await open).toBe('ECONNRESET');
    expect(await dial(standIn).then(fate, (error: NodeJS.ErrnoException) => error.code)).toBe('ECONNRESET');
  });

  it('ends its own side only when half-open', async () => {
    const standIn = await start('ws-daemon');
    await standIn.fault('half-open');
    const socket = await dial(standIn);
    expect(await fate(socket)).toBe('end');
    expect(socket.write('still read')).toBe(true);
    expect((await standIn.stats()).open).toBe(1);
  });

  it('hangs up on idle connections and goes on listening', async () => {
    const standIn = await start('ws-daemon');
    await standIn.fault('close-idle');
    expect(await fate(await dial(standIn))).toBe('end');
    expect(await fate(await dial(standIn))).toBe('end');
  });

  it('says SETTINGS first when it speaks HTTP/2, and not while it hangs', async () => {
    const standIn = await start('ws-daemon', { args: ['--http2'] });
    const session = connectHttp2(`http://${standIn.host}:${standIn.port}`);
    await once(session, 'remoteSettings');
    session.destroy();
    await standIn.fault('hang');
    const socket = await dial(standIn);
    expect(await fate(socket, 400)).toBe('open');
    expect(socket.bytesRead).toBe(0);
    await standIn.fault('none');
    await waitFor('the held connection to be served', () => socket.bytesRead > 0);
  });

  it('completes TLS handshakes when told to speak TLS', async () => {
    const standIn = await start('ws-daemon', { args: ['--tls'] });
    const socket = connectTls({ host: standIn.host, port: standIn.port, rejectUnauthorized: false });
    sockets.push(socket);
    await once(socket, 'secureConnect');
    await standIn.fault('hang');
    const held = connectTls({ host: standIn.host, port: standIn.port, rejectUnauthorized: false });
    sockets.push(held);
    let shook = false;
    held.once('secureConnect', () => {
      shook = true;
    });
    await once(held, 'connect');
    expect(await fate(held, 400)).toBe('open');
    expect(shook).toBe(false);
  });

  it('refuses faults that it does not have', async () => {
    const standIn = await start('ws-daemon');
    await expect(standIn.fault('status 500')).rejects.toThrow('no HTTP');
    await expect(standIn.fault('slow')).rejects.toThrow('whole number');
    await expect(standIn.fault('explode')).rejects.toThrow('unknown fault');
  });
});

describe('registry-facade stand-in', () => {
  it('answers 404 for an unknown image and 200 for the version check', async () => {
    const standIn = await start('registry-facade');
    expect(await get(standIn)).toBe(404);
    expect(await get(standIn, '/v2/')).toBe(200);
    expect((await standIn.stats()).requests).toBe(2);
  });

  it('switches faults on a connection that is kept alive', async () => {
    const standIn = await start('registry-facade');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await get(standIn, probePath, agent)).toBe(404);
    await standIn.fault('status 500');
    expect(await get(standIn, probePath, agent)).toBe(500);
    await standIn.fault('slow 300');
    const began = performance.now();
    expect(await get(standIn, probePath, agent)).toBe(404);
    expect(performance.now() - began).toBeGreaterThanOrEqual(295);
    await standIn.fault('hang');
    expect(await get(standIn, probePath, agent)).toBe('TIMEOUT');
    await standIn.fault('none');
    expect(await get(standIn, probePath, agent)).toBe(404);
    agent.destroy();
  });

  it('refuses, resets and ends connections', async () => {
    const standIn = await start('registry-facade');
    await standIn.fault('refuse');
    expect(await get(standIn)).toBe('ECONNREFUSED');
    await standIn.fault('reset');
    expect(await get(standIn)).toBe('ECONNRESET');
    await standIn.fault('half-open');
    expect(await get(standIn)).toBe('ECONNRESET');
    await standIn.fault('none');
    expect(await get(standIn)).toBe(404);
  });

  it('resets and closes idle connections inside TLS too', async () => {
    const standIn = await start('registry-facade');
    for (const [fault, expected] of [
      ['close-idle', 'end'],
      ['reset', 'ECONNRESET'],
    ] as const) {
      await standIn.fault('none');
      // TLS 1.3 sends tickets after the handshake, and libuv reports data that comes together with a RST as an end.
      const maxVersion = 'TLSv1.2';
      const socket = connectTls({ host: standIn.host, port: standIn.port, rejectUnauthorized: false, maxVersion });
      sockets.push(socket);
      await once(socket, 'secureConnect');
      const became = fate(socket);
      await standIn.fault(fault);
      expect(await became).toBe(expected);
    }
  });

  it('serves the certificate that it is given', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'rollcall-stand-in-'));
    const authority = await createCertificateAuthority('given CA');
    const given = await authority.issue({ commonName: 'registry-facade', hosts: ['registry-facade'] });
    await writeFile(join(dir, 'tls.crt'), given.cert);
    await writeFile(join(dir, 'tls.key'), given.key);
    const args = [`--cert-file=${join(dir, 'tls.crt')}`, `--key-file=${join(dir, 'tls.key')}`];
    const standIn = await start('registry-facade', { args });
    await rm(dir, { recursive: true });
    expect(await get(standIn, probePath, new Agent(), authority.cert)).toBe(404);
    const stranger = await createCertificateAuthority('another CA');
    expect(await get(standIn, probePath, new Agent(), stranger.cert)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  });
});

describe('a stand-in process', () => {
  it('dies by SIGKILL, by SIGTERM and by stop, and frees its port', async () => {
    for (const end of ['SIGKILL', 'SIGTERM', 'stop'] as const) {
      const standIn = await start('ws-daemon');
      if (end === 'stop') await standIn.stop();
      else await standIn.kill(end);
      expect(isAlive(standIn.pid)).toBe(false);
      await expect(dial(standIn)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    }
  });

  it('fails to start with its own words', async () => {
    await expect(startStandIn('registry-facade', { args: ['--nonsense'] })).rejects.toThrow(
      "Unknown option '--nonsense'",
    );
  });
});
