import { text, validation } from './crd-parts.ts';

/** A path that an agent accepts; `name` is the name of its field. */
const pathOnNode = (name: string, what: string) =>
  text(`Path of the ${what} on the node, which must be below --probe-paths of the agents.`, {
    maxLength: 1024,
    pattern: '^/',
    'x-kubernetes-validations': [
      validation(
        "self.startsWith('/') && !(self + '/').matches('/[.]{0,2}/')",
        `${name} must be an absolute path without ".", ".." and "//", and not end with "/": ` +
          'write it as it is on the node, such as /run/example/ready',
      ),
    ],
  });

const port = {
  description: 'Port on which the service listens.',
  type: 'integer',
  format: 'int32',
  minimum: 1,
  maximum: 65_535,
};
const portOnly = (description: string) => ({ description, type: 'object', required: ['port'], properties: { port } });
const whole = (description: string, minimum: number, maximum: number, more: object = {}) => ({
  description,
  type: 'integer',
  format: 'int32',
  minimum,
  maximum,
  ...more,
});

const http = (description: string, more: object = {}) => ({
  description,
  type: 'object',
  required: ['port'],
  properties: {
    port,
    path: text('Path of the request. Defaults to /.', { maxLength: 1024, pattern: '^/[!-"$-~]*$' }),
    headers: {
      description: 'Headers of the request.',
      type: 'object',
      maxProperties: 16,
      additionalProperties: {
        type: 'string',
        maxLength: 1024,
        'x-kubernetes-validations': [
          validation(
            String.raw`self.matches('^[ -~\\t]*$')`,
            'the value of a header may only have printable ASCII characters and tabs: remove the others, such as line breaks',
          ),
        ],
      },
      'x-kubernetes-validations': [
        validation(
          "self.all(name, name.matches('^[!#$%&*+.^_`|~0-9A-Za-z\\'-]+$'))",
          'a name in headers must be a token of HTTP, without spaces and colons: write it as in X-Probe',
        ),
      ],
    },
    statuses: {
      description: 'Healthy statuses, each a status or a range, such as "401" or "200-399". Defaults to 200.',
      type: 'array',
      minItems: 1,
      maxItems: 16,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'string',
        maxLength: 7,
        pattern: '^[1-5][0-9][0-9](-[1-5][0-9][0-9])?$',
        'x-kubernetes-validations': [
          validation(
            'size(self) < 7 || self.substring(0, 3) <= self.substring(4)',
            'a range in statuses must begin with its lower status: write "200-399" instead of "399-200"',
          ),
        ],
      },
    },
    ...more,
  },
});

const KINDS = {
  tcp: portOnly('Healthy if the service accepts a connection.'),
  tls: portOnly('Healthy if the service accepts a connection and begins a TLS handshake.'),
  http2: portOnly('Healthy if the service accepts a connection and sends HTTP/2 SETTINGS.'),
  http: http('Healthy if the service answers a GET with a healthy status.'),
  https: http('Healthy if the service answers a GET over TLS with a healthy status.', {
    caBundle: text(
      'CA certificates (PEM, in base64) to verify the chain of the certificate, but not its names. Without it, the certificate is not verified.',
      {
        format: 'byte',
        // It goes with replies to agents.
        maxLength: 32_768,
        'x-kubernetes-validations': [
          validation(
            "string(self).contains('-----BEGIN CERTIFICATE-----')",
            'caBundle contains no certificate: set it to the CA certificates in PEM, in base64 (base64 -w0 ca.crt)',
          ),
        ],
      },
    ),
  }),
  grpc: {
    description: 'Healthy if grpc.health.v1 returns SERVING.',
    type: 'object',
    properties: {
      port,
      socket: pathOnNode('socket', 'socket'),
      service: text('Name of the gRPC service to check. Defaults to the server as a whole.', {
        maxLength: 253,
      }),
    },
    'x-kubernetes-validations': [
      validation('has(self.port) != has(self.socket)', 'grpc needs either a port or a socket, not both'),
    ],
  },
  csi: {
    description: 'Healthy if csi.v1.Identity reports the driver as ready.',
    type: 'object',
    required: ['socket'],
    properties: { socket: pathOnNode('socket', 'socket') },
  },
  unix: {
    description: 'Healthy if a Unix socket accepts a connection.',
    type: 'object',
    required: ['path'],
    properties: { path: pathOnNode('path', 'socket') },
  },
  file: {
    description: 'Healthy if the file exists.',
    type: 'object',
    required: ['path'],
    properties: {
      path: pathOnNode('path', 'file'),
      maxAgeSeconds: whole('Maximum time since the last write to the file.', 1, 31_536_000),
    },
  },
};

/** How the agent of a node asks a service. */
export const probe = {
  description: 'Evidence: the result of a probe by the agent of the node. Set exactly one kind.',
  type: 'object',
  properties: {
    ...KINDS,
    host: text(
      'The address to probe: the pod IP, the node IP, or loopback, which requires agents on the network of the host. ' +
        'Defaults to the pod IP, or to the node IP if there is no pod or it uses the host network.',
      { enum: ['Pod', 'Node', 'Loopback'] },
    ),
    periodMilliseconds: whole('Time between two probes.', 10, 3_600_000, { default: 1000 }),
    timeoutMilliseconds: whole('Time-out of a probe.', 10, 3_600_000, { default: 1000 }),
    failureThreshold: whole(
      'Number of failed probes in a row after which the service is not ready; a refused connection makes it not ready at once.',
      1,
      1000,
      {
        default: 3,
      },
    ),
    successThreshold: whole('Number of successful probes in a row after which the service is ready.', 1, 1000, {
      default: 1,
    }),
  },
  'x-kubernetes-validations': [
    validation(
      `[${Object.keys(KINDS)
        .map((kind) => `has(self.${kind})`)
        .join(', ')}].filter(x, x).size() == 1`,
      `set exactly one kind of probe: ${Object.keys(KINDS).join(', ')}`,
    ),
  ],
};
