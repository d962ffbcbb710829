import type { WATCHED } from '../watched-resources.ts';
import { duration, type Schema, text, validation } from './schema.ts';

/** A kind of check of a NodeService. `Settings`: what is read by the schema. */
export type CheckKind<Settings extends object = object> = {
  /** The settings as the CRD has them, and as agents are told them. */
  schema: Schema;
  /**
   * What vouches for the evidence, and has to be alive for it to count: the agent of the node, pods that report it, or
   * nothing for what the API server itself keeps.
   */
  voucher: 'agent' | 'reporter' | 'none';
  /** What has to be watched for it; nothing for what agents see. */
  watched?: keyof typeof WATCHED;
  /** Types the settings; has no value. */
  readonly settings?: Settings;
};

/** A kind of check that the coordinator makes. */
export type SeenKind<Settings extends object> = CheckKind<Settings> & {
  /** What is so while it passes, as a clause for people. */
  says(settings: Settings): string;
};

/** A kind of check that agents make when they are told to. */
export type ProbeKind<Settings extends object = object> = CheckKind<Settings> & {
  voucher: 'agent';
  /** Time between two of them, unless the check says otherwise; defaults to 1 s. */
  periodMs?: number;
  /** Asks for what all nodes share: it needs no pod of the service, and what fails on most nodes is no node's fault. */
  isOfCluster?: true;
  /** The setting with which what it finds depends on the start of the pod of the service, and what is set without pods. */
  ofPodStart?: { field: string; value: string; otherwise: string };
};

/** Names of namespaces and of checks. */
export const DNS_LABEL = { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' };
export const SUBDOMAIN = { maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$' };
/** Names of resources. */
export const QUALIFIED_NAME = {
  minLength: 1,
  maxLength: 317,
  pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
};

const PORT = {
  description: 'Port on which the service listens.',
  type: 'integer',
  format: 'int32',
  minimum: 1,
  maximum: 65_535,
};
const HOST = text(
  'The address to probe: the pod IP, the node IP, or loopback (127.0.0.1, or else ::1), which requires agents on the network of the host. ' +
    'Defaults to the IP of the pods that the service checks, or to the node IP if it checks none or they use the host network.',
  { enum: ['Pod', 'Node', 'Loopback'] },
);

/** The fields of what is asked over the network. */
export const AT_PORT = { port: PORT, host: HOST };

/** A path that an agent accepts; `name` is the name of its field. */
export const pathOnNode = (name: string, what: string) =>
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

/** Of evidence that is away for a moment, such as what a device plugin offers while it restarts. */
export const GRACE = duration(
  'grace',
  'Time for which a check that passed still counts as passed after it began to fail. Defaults to none.',
);

export const CA_BUNDLE = text(
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
);
