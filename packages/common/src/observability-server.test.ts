import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { HealthChecks } from './health.ts';
import { closeServer, listen } from './http-server.ts';
import { Lifecycle } from './lifecycle.ts';
import { silentLogger } from './logging.ts';
import { createRegistry, Gauge, type Registry } from './metrics.ts';
import { createObservabilityServer, openObservability } from './observability-server.ts';

let health: HealthChecks;
let readiness: HealthChecks;
let registry: Registry;
let server: ReturnType<typeof createObservabilityServer>;
/** Connections to it. */
let open: number;
let port: number;

beforeEach(async () => {
  health = new HealthChecks();
  readiness = new HealthChecks();
  registry = createRegistry('rollcall_agent');
  server = createObservabilityServer({ health, readiness, registry });
  open = 0;
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
  ({ port } = await listen(server, { host: '127.0.0.1', port: 0 }));
});

afterEach(() => closeServer(server, 0));

type Answer = { status: number | undefined; type: string | undefined; allow?: string; body: string };

function ask(path: string, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => {
        const { allow, 'content-type': type } = response.headers;
        resolve({ status: response.statusCode, type, ...(allow === undefined ? {} : { allow }), body });
      });
    })
      .on('error', reject)
      .end();
  });
}

describe.each([
  ['/healthz', () => health, () => readiness],
  ['/readyz', () => readiness, () => health],
] as const)('%s', (path, own, other) => {
  test('is 200 while all of its checks pass, whatever the other endpoint says', async () => {
    own().add('good', () => undefined);
    other().add('bad', () => 'it broke');
    expect(await ask(path)).toMatchObject({ status: 200, body: 'ok\n' });
  });

  test('answers by its own name too, as an endpoint of controller-runtime does', async () => {
    own().add('good', () => undefined);
    expect(await ask(`${path}${path}`)).toMatchObject({ status: 200, body: 'ok\n' });
  });

  test('is 503 and says why when one fails', async () => {
    own().add('good', () => undefined);
    own().add('bad', () => 'it broke');
    const { status, body } = await ask(path);
    expect(status).toBe(503);
    expect(body).toBe(`[+]good ok\n[-]bad failed: it broke\n${path.slice(1)} check failed\n`);
  });

  test('lists its checks when asked to be verbose', async () => {
    own().add('good', () => undefined);
    expect(await ask(`${path}?verbose`)).toMatchObject({
      status: 200,
      body: `[+]good ok\n${path.slice(1)} check passed\n`,
    });
  });

  test('can be asked for one check', async () => {
    own().add('good', () => undefined);
    own().add('bad', () => 'it broke');
    expect(await ask(`${path}/good`)).toMatchObject({ status: 200 });
    expect(await ask(`${path}/bad`)).toMatchObject({ status: 503 });
    expect(await ask(`${path}/ugly`)).toMatchObject({ status: 404 });
    expect(await ask(`${path}/`)).toMatchObject({ status: 503 });
  });

  test('answers HEAD without a body', async () => {
    expect(await ask(path, 'HEAD')).toMatchObject({ status: 200, body: '' });
  });
});

describe('/metrics', () => {
  test('has what every process has, and what was registered', async () => {
    new Gauge({ name: 'rollcall_agent_test', help: 'A test.', registers: [registry] }).set(7);
    const { status, type, body } = await ask('/metrics');
    expect(status).toBe(200);
    expect(type).toMatch(/^text\/plain; version=/);
    expect(body).toMatch(/^rollcall_agent_test 7$/m);
    expect(body).toMatch(/^rollcall_agent_build_info\{version="[^"]+",node_version="v\d+[^"]+"\} 1$/m);
    expect(body).toMatch(/^process_resident_memory_bytes \d+$/m);
    expect(body).toMatch(/^process_cpu_seconds_total \d/m);
    expect(body).toMatch(/^process_start_time_seconds \d{10}$/m);
  });

  test('is 500 when a metric cannot be collected, and the server lives on', async () => {
    new Gauge({
      name: 'rollcall_agent_broken',
      help: 'A test.',
      registers: [registry],
      collect() {
        throw new Error('no such thing');
      },
    });
    expect(await ask('/metrics')).toMatchObject({ status: 500, body: 'no such thing\n' });
    expect(await ask('/healthz')).toMatchObject({ status: 200 });
  });
});

describe('many who ask for /metrics at once', () => {
  test('cause one rendering, and each gets it', async () => {
    let renderings = 0;
    new Gauge({
      name: 'rollcall_agent_test',
      help: 'A test.',
      registers: [registry],
      collect() {
        renderings += 1;
        this.set(renderings);
      },
    });
    const sockets = Array.from({ length: 50 }, () => connect(port, '127.0.0.1').setEncoding('utf8'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    await expect.poll(() => open).toBe(50);
    const answers = sockets.map(async (socket) => String((await once(socket, 'data'))[0]));
    for (const socket of sockets) socket.write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n');
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 200 /);
    for (const socket of sockets) socket.destroy();
    expect(renderings).toBeLessThan(10);
  });

  test('do not stop others from getting newer values', async () => {
    const gauge = new Gauge({ name: 'rollcall_agent_test', help: 'A test.', registers: [registry] });
    for (const value of [1, 2, 3]) {
      gauge.set(value);
      expect((await ask('/metrics')).body).toMatch(new RegExp(`^rollcall_agent_test ${value}$`, 'm'));
    }
  });

  test('do not touch the metrics when they ask for health', async () => {
    let renderings = 0;
    registry.metrics = async () => {
      renderings += 1;
      return '';
    };
    await Promise.all(['/healthz', '/readyz', '/healthz?verbose', '/other'].map((path) => ask(path)));
    expect(renderings).toBe(0);
  });
});

test('a client that does not read the metrics loses its connection', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  registry.metrics = async () => 'x'.repeat(32 * 1024 * 1024);
  const socket = connect(port, '127.0.0.1').pause();
  socket.write('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n');
  await expect.poll(() => vi.getTimerCount(), { timeout: 10_000 }).toBeGreaterThan(0);
  await vi.advanceTimersByTimeAsync(10_000);
  await vi.waitFor(() => expect(open).toBe(0));
  socket.destroy();
});

describe('the listener of a program', () => {
  const open = (listenAt: string, life = new Lifecycle(silentLogger())) =>
    openObservability(listenAt, { health, readiness, registry }, life);

  test('is open until the program stops', async () => {
    const life = new Lifecycle(silentLogger());
    const bound = await open('127.0.0.1:0', life);
    expect(bound).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    const [host = '', at] = bound.split(':');
    const connected = () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(Number(at), host);
        socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
        socket.on('connect', () => socket.destroy());
      });
    expect(await connected()).toBe(true);
    await life.stop();
    expect(await connected()).toBe(false);
  });

  test('says where it is in IPv6 with brackets', async () => {
    const life = new Lifecycle(silentLogger());
    expect(await open('[::1]:0', life)).toMatch(/^\[::1\]:[1-9]\d*$/);
    await life.stop();
  });

  test('is not opened where it is switched off', async () => {
    expect(await open('off')).toBe('off');
  });
});

describe('everything else', () => {
  test.each(['/', '/health', '/constructor', '/__proto__', '/metrics/x', '//', '/%zz'])('is 404: %s', async (path) => {
    expect(await ask(path)).toMatchObject({ status: 404 });
  });

  test.each(['POST', 'PUT', 'DELETE'])('is 405: %s', async (method) => {
    expect(await ask('/healthz', method)).toMatchObject({ status: 405, allow: 'GET, HEAD' });
  });

  test.each(['*', 'ftp://elsewhere/healthz'])('is 404 for the request target %s', async (target) => {
    expect(await ask(target)).toMatchObject({ status: 404 });
  });

  test.each(['http://elsewhere/healthz', 'HTTPS://elsewhere:1/healthz?verbose'])(
    'is served for the absolute form as for the path alone: %s',
    async (target) => {
      expect(await ask(target)).toMatchObject({ status: 200 });
    },
  );
});
