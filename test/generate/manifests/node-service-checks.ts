import { KUBELET_CONDITIONS } from '@rollcall/common/well-known.ts';
import { celList } from './cel.ts';
import { text, validation } from './crd-parts.ts';
import { labelSelector } from './label-selector.ts';

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
const host = text(
  'The address to probe: the pod IP, the node IP, or loopback (127.0.0.1, or else ::1), which requires agents on the network of the host. ' +
    'Defaults to the IP of the pods that the service checks, or to the node IP if it checks none or they use the host network.',
  { enum: ['Pod', 'Node', 'Loopback'] },
);
const ofPort = (description: string) => ({
  description,
  type: 'object',
  required: ['port'],
  properties: { port, host },
});
const whole = (description: string, minimum: number, maximum: number, more: object = {}) => ({
  description,
  type: 'integer',
  format: 'int32',
  minimum,
  maximum,
  ...more,
});

/** A duration from `least` to a year; CEL reads it as Go does. */
export const duration = (name: string, description: string, more: object = {}, least = '10ms') =>
  text(`${description} A duration, such as 500ms, 10s or 1h30m.`, {
    maxLength: 32,
    'x-kubernetes-validations': [
      validation(
        `self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('${least}') && duration(self) <= duration('8760h')`,
        `${name} must be a duration of ${least} to 8760h, such as 500ms, 10s or 1h30m`,
      ),
    ],
    ...more,
  });

const http = (description: string, more: object = {}) => ({
  description,
  type: 'object',
  required: ['port'],
  properties: {
    port,
    host,
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
    expectedStatuses: {
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
            'a range in expectedStatuses must begin with its lower status: write "200-399" instead of "399-200"',
          ),
        ],
      },
    },
    ...more,
  },
});

/** What the agent of a node probes. */
const PROBES = {
  tcp: ofPort('Healthy if the service accepts a connection.'),
  tls: ofPort('Healthy if the service accepts a connection and begins a TLS handshake.'),
  http2: ofPort('Healthy if the service accepts a connection and sends HTTP/2 SETTINGS.'),
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
      host,
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
      maxAge: duration('maxAge', 'Maximum time since the last write to the file.'),
      expectedFirstLine: text(
        'First line that the file must have. Another one fails the check, and its first 200 characters are the reason.',
        { maxLength: 200 },
      ),
    },
  },
  dns: {
    description:
      'Passes if a name has an address in DNS, as for any pod of the node. Agents on the network of the host cannot tell. The default period is 10s.',
    type: 'object',
    properties: {
      name: text('Name to resolve. Defaults to kubernetes.default.svc.', {
        maxLength: 253,
        pattern: '^[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?[.]?$',
      }),
    },
  },
  kubernetesService: {
    description:
      'Passes if the API server answers a TLS handshake at the address of its Service, as for any pod of the node. Agents on the network of the host cannot tell. The default period is 10s.',
    type: 'object',
  },
};

const NAMESPACE = { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };
const SUBDOMAIN = { maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' };
/** Names of resources and DRA drivers. */
const QUALIFIED_NAME = {
  minLength: 1,
  maxLength: 317,
  pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
};

/** What the coordinator sees itself, or counts of what agents report. */
const SEEN = {
  pods: {
    description:
      'Passes if a pod of it on the node is Ready and not terminating. Where a DaemonSet controls any of them on a node, ' +
      'others on it do not count.',
    type: 'object',
    required: ['namespace', 'selector'],
    properties: {
      namespace: text('Namespace of the pods.', NAMESPACE),
      selector: labelSelector('Label selector of the pods.', true),
      daemonSet: text('Only pods that this DaemonSet controls count.', SUBDOMAIN),
    },
  },
  condition: {
    description:
      'Passes if a condition of the Node, which another component writes, has a status. While its reporter is not Ready on the node, nothing that it says counts.',
    type: 'object',
    required: ['type'],
    properties: {
      type: text('Type of the condition.', { minLength: 1, maxLength: 316 }),
      status: text('Status that is healthy.', { enum: ['True', 'False', 'Unknown'], default: 'True' }),
      for: duration(
        'for',
        'Time for which it must have had this status, as rollcall saw it, or by lastTransitionTime if that is earlier.',
      ),
      missing: text('What it means that the node does not have the condition.', {
        enum: ['Unknown', 'Pass', 'Fail'],
        default: 'Unknown',
      }),
      reporter: {
        description: 'Pods that write the condition. One of them on the node must be Ready.',
        type: 'object',
        required: ['namespace', 'selector'],
        properties: {
          namespace: text('Namespace of the pods.', NAMESPACE),
          selector: labelSelector('Label selector of the pods.', true),
        },
      },
      maxHeartbeatAge: duration('maxHeartbeatAge', 'Maximum age of lastHeartbeatTime.'),
    },
    'x-kubernetes-validations': [
      validation(
        `!(self.type in ${celList(KUBELET_CONDITIONS)})`,
        'the kubelet and networks write this condition, and Kubernetes itself acts on it: use another type',
      ),
    ],
  },
  csiNode: {
    description:
      'Passes if the CSINode of the node lists the driver, and its status.storageHealth (alpha in Kubernetes 1.37) names no problem of the storage of the driver.',
    type: 'object',
    required: ['driver'],
    properties: { driver: text('Name of the CSI driver.', SUBDOMAIN) },
  },
  device: {
    description: 'Passes if the agent sees enough accelerators of a kind, with the driver if one is set.',
    type: 'object',
    required: ['name'],
    properties: {
      name: text('NAME of the label device.rollcall.dev/NAME, or gpu for any GPU.', {
        maxLength: 63,
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
      }),
      minCount: whole('Number of accelerators that must be there.', 1, 1024, { default: 1 }),
      driver: text('Kernel driver that must be bound to all of them.', {
        maxLength: 63,
        pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
      }),
    },
  },
  resource: {
    description: 'Passes if the node has enough of a resource allocatable.',
    type: 'object',
    required: ['name'],
    properties: {
      name: text('Name of the resource, such as nvidia.com/gpu.', QUALIFIED_NAME),
      min: whole('Amount that must be allocatable.', 1, 2_147_483_647, { default: 1 }),
    },
  },
  dra: {
    description:
      'Passes if ResourceSlices of the node have enough devices of a DRA driver that no taint with the effect NoSchedule or NoExecute keeps away.',
    type: 'object',
    required: ['driver'],
    properties: {
      driver: text('Name of the DRA driver.', SUBDOMAIN),
      min: whole('Number of devices that must be there.', 1, 2_147_483_647, { default: 1 }),
    },
  },
};

const KINDS = { ...SEEN, ...PROBES };
/** Kinds that have a host. */
const AT_PORT = Object.entries(PROBES).flatMap(([kind, schema]) =>
  'properties' in schema && 'port' in schema.properties ? [kind] : [],
);

const times = {
  period: duration('period', 'For probes: time between two of them. Defaults to 1s.', {}, '100ms'),
  timeout: duration('timeout', 'For probes: time-out of each. Defaults to 1s.'),
  failureThreshold: whole(
    'For probes: number of failed ones in a row after which the check fails; after a refused connection it fails at once. Defaults to 3.',
    1,
    1000,
  ),
  successThreshold: whole(
    'For probes: number of successful ones in a row after which the check passes. Defaults to 1.',
    1,
    1000,
  ),
};

const CHECK_NAME = { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };
const name = text('Name of the check, unique among its neighbours.', CHECK_NAME);

/** What only checks that agents make have. */
const ofProbes = {
  ...times,
  of: text(
    'For probes: name of the check of pods whose pods are probed. Required if several checks are of the kind pods and the probe is at the address of a pod.',
    CHECK_NAME,
  ),
};

/** Exactly one of these fields is set. */
function oneOf(kinds: readonly string[]) {
  return validation(
    `[${kinds.map((kind) => `has(self.${kind})`).join(', ')}].filter(x, x).size() == 1`,
    `a check has exactly one kind: ${kinds.join(', ')}`,
  );
}

const hasAny = (fields: readonly string[], of = 'self') => fields.map((field) => `has(${of}.${field})`).join(' || ');

/** What agents probe has times and pods; what the coordinator sees has none. */
const fieldsOfProbes = validation(
  `${hasAny(Object.keys(PROBES))} || !(${hasAny(Object.keys(ofProbes))})`,
  `period, timeout, failureThreshold, successThreshold and of are for checks that agents make: ${Object.keys(PROBES).join(', ')}`,
);

/** The pod IP can only be meant where pods are checked. */
const hostOfPods = () => {
  const asks = (check: string) =>
    AT_PORT.map((kind) => `(has(${check}.${kind}) && has(${check}.${kind}.host) && ${check}.${kind}.host == 'Pod')`);
  const some = (isSo: (check: string) => string) =>
    `self.exists(c, ${isSo('c')} || (has(c.anyOf) && c.anyOf.exists(d, ${isSo('d')})))`;
  return validation(
    `!${some((check) => asks(check).join(' || '))} || ${some((check) => `has(${check}.pods)`)}`,
    'host is Pod, but no check is of the kind pods: add one, or use Node or Loopback',
  );
};

const list = { type: 'array', minItems: 1, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };

const anyOf = {
  ...list,
  description: 'Checks of which one must pass.',
  maxItems: 8,
  items: {
    type: 'object',
    required: ['name'],
    properties: { name, ...KINDS, ...ofProbes },
    'x-kubernetes-validations': [oneOf(Object.keys(KINDS)), fieldsOfProbes],
  },
};

/** What tells whether a service is ready. */
export const checks = {
  ...list,
  description: 'The checks, all of which must pass. Each has one kind.',
  maxItems: 16,
  items: {
    type: 'object',
    required: ['name'],
    properties: { name, ...KINDS, anyOf, ...ofProbes },
    'x-kubernetes-validations': [oneOf([...Object.keys(KINDS), 'anyOf']), fieldsOfProbes],
  },
  'x-kubernetes-validations': [hostOfPods()],
};
