import type { Clock } from '@rollcall/common/clock.ts';
import type { ProbeTarget } from '@rollcall/common/report.ts';
import type { Connect } from './exchange.ts';
import type { ProbePaths } from './probe-paths.ts';
import type { AddressRules } from './target-rule.ts';
import type { TlsContexts } from './tls-contexts.ts';

/**
 * What one probe saw.
 *
 * - `healthy`: the service answered as it should.
 * - `hard`: proof that no process serves there (connection refused or reset).
 * - `soft`: no proof either way (time-out, an unexpected status); only a run of them counts.
 * - `unknown`: the service was not asked.
 */
export type ProbeResult = {
  verdict: 'healthy' | 'hard' | 'soft' | 'unknown';
  /** One sentence for people, the same for the same finding: no latencies, no counters. */
  evidence: string;
  /** Absent where nothing was asked, because a held connection says enough. */
  latencyMs?: number;
};

/** The target of a probe: over the network, a socket or file of this machine, or a name of DNS. */
export type ProbeAddress = ProbeTarget | { path: string } | { name: string };

/** Asks a service once. Never rejects: what goes wrong is a finding. Gives up when `signal` aborts. */
export type Probe = (target: ProbeAddress, signal: AbortSignal) => Promise<ProbeResult>;

/**
 * The way to one service, with the connection that is held to it: the kernel closes that the moment that the process
 * dies. A held connection does not judge: a close can also mean that the server tidies up.
 */
export type Line = {
  /** In every so many rounds a new connection has to be made; between them, the held one may serve. */
  readonly freshEveryRounds: number;
  /** Asks once; over a new connection if `fresh`. Never rejects. */
  ask(target: ProbeAddress, signal: AbortSignal, fresh: boolean): Promise<ProbeResult>;
  /** Holds a connection, unless one is held or under way. */
  hold(target: ProbeAddress): void;
  /** Closes what is held, without calling back. */
  release(): void;
};

/** `onLost` is called once for each held connection that the other side closed, reset or did not take. */
export type OpenLine = (onLost: () => void) => Line;

export type ProbeTools = {
  clock: Clock;
  /** The sockets and files that may be looked at. */
  paths: ProbePaths;
  tlsContexts: TlsContexts;
  /** How the TCP and TLS probes connect; defaults to `node:net`. */
  connect?: Connect | undefined;
  /** When the pod of the service started, RFC 3339, where the probe depends on it. */
  podStart?: string | undefined;
  /** Milliseconds since the node started; defaults to what the kernel says. */
  uptimeMs?: (() => number) | undefined;
  /** Takes the place of /etc/resolv.conf. */
  resolvConf?: string | undefined;
};

/** A kind of probe. Its settings are checked and read by their schema, which the coordinator has, too. */
export type ProbeKind<Settings extends object = object> = {
  /** Its name on the wire and in NodeServices. */
  kind: string;
  /** The path of the socket or file that is asked; `undefined`: it is asked over the network. */
  pathOf?(settings: Settings): string | undefined;
  /** Returns the address that it asks, whatever the coordinator sends; a string is the reason why it asks none. */
  addressOf?(settings: Settings, rules: AddressRules): ProbeAddress | string;
  /** A string says what the schema cannot say is wrong with the settings. */
  prepare(settings: Settings, tools: ProbeTools): OpenLine | string;
};

export type Timing = {
  periodMs: number;
  /** The period at rest, when the service has been ready without any doubt for a minute; never less than `periodMs`. */
  idlePeriodMs?: number;
  timeoutMs: number;
  /** Consecutive soft findings before a ready service counts as not ready. */
  failureThreshold: number;
  /** Consecutive healthy findings before a service counts as ready. */
  successThreshold: number;
};

/** A service of this node, and how to tell whether it is ready. */
export type ServiceDefinition = Timing & {
  name: string;
  openLine: OpenLine;
  /** The target that is probed until it changes. */
  target: ProbeAddress;
};

/** The verdict on a service. */
export type ServiceState = {
  name: string;
  ready: boolean;
  /** Nothing is known of it yet, so that `ready` says nothing. */
  unknown?: true;
  /** Wall clock, milliseconds since the epoch; when `ready` took its present value. */
  sinceMs: number;
  evidence: string;
};

/** The verdict with the coordinator's digest of the check for which it was made. */
export type ReportedState = ServiceState & { digest: string };
