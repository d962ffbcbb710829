/**
 * How a probe of a kind is written, in `every-kind.test.ts`, `test/model` and `test/simulate`. The agent finds there what is really
 * so at the port that is named in it, however it asks; `undefined` where no port can be named.
 */
const PROBES: Readonly<Record<string, ((port: number) => object) | undefined>> = {
  tcp: (port) => ({ port }),
  tls: (port) => ({ port }),
  http2: (port) => ({ port }),
  http: (port) => ({ port, path: '/ready' }),
  https: (port) => ({ port }),
  grpc: (port) => ({ port }),
  csi: (port) => ({ socket: `/run/${port}/csi.sock` }),
  unix: (port) => ({ path: `/run/${port}/socket` }),
  file: (port) => ({ path: `/run/${port}/ready` }),
  dns: (port) => ({ name: `port-${port}.example` }),
  kubernetesService: undefined,
};

export const PROBED_KINDS: readonly string[] = Object.keys(PROBES);

/** The settings of a probe. One that cannot name a port is for the first. */
export function probeOf(kind: string, port: number): object {
  return PROBES[kind]?.(port) ?? {};
}
