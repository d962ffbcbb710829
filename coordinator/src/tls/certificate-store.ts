import { Backoff } from '@rollcall/common/backoff.ts';
import { type Clock, haveClocksParted, momentOf, sleep } from '@rollcall/common/clock.ts';
import { CodedError, hasCode } from '@rollcall/common/coded-error.ts';
import type { Logger } from '@rollcall/common/logging.ts';
import { type Rate, TokenBucket } from '@rollcall/common/token-bucket.ts';
import { CA_CONFIG_MAP_NAME, TLS_SECRET_NAME } from '@rollcall/common/well-known.ts';
import {
  applyObject,
  collectionPath,
  getObject,
  isConflict,
  isNotFound,
  type ObjectRef,
  replaceObject,
} from '../kube/apply-object.ts';
import { type KubeClient, KubeStatusError } from '../kube/client.ts';
import type { LeaderRequests } from '../kube/leader-requests.ts';
import { createReflector } from '../kube/reflector.ts';
import type { CertificateHolder, KeyPair } from './certificate-holder.ts';
import { type CertificateInfo, parseCertificate } from './certificate-info.ts';
import type { CertificateMetrics } from './metrics.ts';
import { nextStep, type RotationPolicy, type RotationStep } from './rotation.ts';
import {
  carryOut,
  type DataObject,
  publishBundle,
  type RotationView,
  readConfigMap,
  readSecret,
  type StoredCertificates,
  viewOf,
  writeSecret,
} from './stored-certificates.ts';

export type CertificateStoreOptions = {
  client: KubeClient;
  /** Only the leader writes. */
  requests: LeaderRequests;
  /** The coordinator's own namespace. */
  namespace: string;
  /** Is given what is to be served. */
  certificates: CertificateHolder;
  policy: RotationPolicy;
  clock: Clock;
  /** A number in [0, 1). */
  random: () => number;
  signal: AbortSignal;
  logger: Logger;
  metrics?: CertificateMetrics;
};

const REQUEST_TIMEOUT_MS = 5000;
/** A rotation takes a few steps in months. More are a fight with another writer, or with a fault of our own. */
const STEPS: Rate = { burst: 12, intervalMs: 30_000 };
/** Timers cannot be set for months. */
const LOOK_AGAIN_MS = 3_600_000;
/** A certificate that was made by a clock that was wrong is no use to agents once the clock is right. */
const CLOCK_CHECK_MS = 5000;

/** How long there is nothing to do, and whether events may shorten that. */
type Rest = { delayMs: number; isPause?: boolean };

type Found = {
  secret: DataObject | undefined;
  configMap: DataObject | undefined;
  stored: StoredCertificates;
  served: KeyPair | undefined;
};

/**
 * Keeps the coordinator's own certificates in a Secret and publishes whom to trust in a ConfigMap. Every replica serves
 * what the Secret holds; the leader takes one step of the rotation after the other, each a single conditional write,
 * and looks again after each.
 */
export class CertificateStore {
  readonly #options: CertificateStoreOptions;
  readonly #secret: ObjectRef;
  readonly #configMap: ObjectRef;
  readonly #backoff: Backoff;
  #wake = () => {};
  #awake = true;
  readonly #steps = new TokenBucket(STEPS);
  #failing = false;
  /** What was said about the Secret last, so that it is said once. */
  #complaint = '';
  #secretSeen = false;
  /** Who signed what is served: known even when both objects are gone. */
  #issuer: CertificateInfo | undefined;

  constructor(options: CertificateStoreOptions) {
    const { namespace, random } = options;
    this.#options = options;
    this.#secret = { kind: 'Secret', namespace, name: TLS_SECRET_NAME };
    this.#configMap = { kind: 'ConfigMap', namespace, name: CA_CONFIG_MAP_NAME };
    this.#backoff = new Backoff({ baseMs: 500, maxMs: 30_000, random });
  }

  /** Looks again, at once or after a pause: to be called when this replica begins to lead. */
  readonly wake = (): void => {
    this.#awake = true;
    this.#wake();
  };

  /** Serves, and as the leader rotates, until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { clock, signal } = this.#options;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
    const watches = [this.#watch(this.#secret), this.#watch(this.#configMap)];
    while (!signal.aborted) {
      this.#awake = false;
      const { delayMs, isPause } = await this.#passOrRetry();
      // Its own writes are events as well, so no event ends a pause.
      if (isPause) await sleep(clock, delayMs, signal);
      else await this.#sleep(delayMs);
    }
    await Promise.all(watches);
  }

  #watch(ref: ObjectRef): Promise<void> {
    const { client, clock, random, signal, logger } = this.#options;
    const reflector = createReflector<undefined>({
      client,
      path: collectionPath(ref),
      // RBAC lets a watch through that asks for the one name it permits.
      fieldSelector: `metadata.name=${ref.name}`,
      metadataOnly: true,
      clock,
      random,
      signal,
      logger,
      transform: () => undefined,
      handlers: { onReplace: this.wake, onUpsert: this.wake, onDelete: this.wake },
    });
    return reflector.run();
  }

  /** Sleeps until `wake`, the end, a step of the wall clock, or `delayMs` are over. */
  #sleep(delayMs: number): Promise<void> {
    const { clock, signal } = this.#options;
    if (this.#awake || signal.aborted) return Promise.resolve();
    const since = momentOf(clock);
    const untilMs = since.monotonicMs + Math.min(delayMs, LOOK_AGAIN_MS);
    return new Promise((resolve) => {
      let cancel = () => {};
      const wait = () => {
        const leftMs = untilMs - clock.monotonic();
        if (leftMs <= 0 || haveClocksParted(clock, since)) return resolve();
        cancel = clock.after(Math.min(leftMs, CLOCK_CHECK_MS), wait);
      };
      this.#wake = () => {
        cancel();
        resolve();
      };
      wait();
    });
  }

  async #passOrRetry(): Promise<Rest> {
    const { logger, signal } = this.#options;
    try {
      const rest = await this.#pass();
      this.#backoff.reset();
      if (this.#failing) logger.info('Recovered the care for certificates');
      this.#failing = false;
      return rest;
    } catch (err) {
      if (signal.aborted) return { delayMs: 0 };
      // The new leader maintains the certificates.
      if (hasCode(err, 'LEADERSHIP_LOST')) return { delayMs: LOOK_AGAIN_MS };
      const pause = { delayMs: this.#backoff.next(), isPause: true };
      // Another client wrote first: its state is read next.
      if (isConflict(err) || isNotFound(err)) return pause;
      if (!this.#failing) logger.warn({ err }, 'Failed to look after certificates');
      this.#failing = true;
      return pause;
    }
  }

  /** Looks and writes until there is nothing to do. */
  async #pass(): Promise<Rest> {
    const { requests, clock, policy, certificates, logger } = this.#options;
    for (;;) {
      const secret = await getObject<DataObject>(this.#options.client, this.#secret, this.#limits());
      const stored = this.#takeIn(secret);
      if (!requests.mayBegin) return { delayMs: LOOK_AGAIN_MS };
      const configMap = await getObject<DataObject>(this.#options.client, this.#configMap, this.#limits());
      const served = certificates.current;
      const view = viewOf(stored, { pair: served, issuer: this.#issuer }, readConfigMap(configMap));
      this.#issuer = view.certificates.get(view.state.leaf?.issuer ?? '') ?? this.#issuer;
      const step = nextStep(view.state, policy, clock.now());
      if (step.action === 'wait') return { delayMs: step.untilMs - clock.now() };
      const waitMs = this.#steps.waitMs(clock.monotonic());
      if (waitMs > 0) {
        logger.warn('Paused, because another writer keeps changing the certificates');
        return { delayMs: waitMs, isPause: true };
      }
      this.#steps.take(clock.monotonic());
      await this.#take(step, view, { secret, configMap, stored, served });
    }
  }

  /** Serves what the Secret holds, and says what is wrong with it. */
  #takeIn(secret: DataObject | undefined): StoredCertificates {
    const { stored, problems } = readSecret(secret);
    const { certificates, clock, metrics } = this.#options;
    if (secret === undefined && this.#secretSeen) problems.push('it was deleted');
    this.#secretSeen ||= secret !== undefined;
    this.#complain(problems.join('; '));
    if (stored.authority) metrics?.set('ca', parseCertificate(stored.authority.cert).notAfterMs);
    if (!stored.leaf) return stored;
    const { notAfterMs } = parseCertificate(stored.leaf.cert);
    if (notAfterMs <= clock.now() && certificates.current) return stored;
    certificates.set({ ...stored.leaf, ...(stored.authority ? { authority: stored.authority.cert } : {}) });
    metrics?.set('leaf', notAfterMs);
    return stored;
  }

  #complain(complaint: string): void {
    if (complaint === this.#complaint) return;
    this.#complaint = complaint;
    if (complaint === '') return;
    const err = new CodedError('CERTIFICATE_INVALID', `The Secret ${TLS_SECRET_NAME} cannot be used: ${complaint}`);
    this.#options.logger.error({ err }, 'Found the stored certificates damaged');
  }

  async #take(step: Exclude<RotationStep, { action: 'wait' }>, view: RotationView, found: Found): Promise<void> {
    const { policy, clock, logger } = this.#options;
    const { stored, served } = found;
    const nowMs = clock.now();
    const change = await carryOut(step, { stored, served, view, policy, nowMs });
    if ('bundle' in change) await this.#publish(found.configMap, change.bundle, nowMs);
    else await this.#store(found.secret, change.secret);
    const reason = 'reason' in step ? { reason: step.reason } : {};
    logger.info({ action: step.action, ...reason }, 'Took a step of the certificate rotation');
  }

  async #store(secret: DataObject | undefined, certificates: StoredCertificates): Promise<void> {
    // An empty one is no harm when several make it at once; whose content it gets is decided by the replace.
    const existing = secret ?? (await this.#create(this.#secret));
    await replaceObject(this.#options.requests, this.#secret, writeSecret(existing, certificates), this.#limits());
  }

  async #publish(configMap: DataObject | undefined, bundle: readonly CertificateInfo[], nowMs: number): Promise<void> {
    if (configMap) {
      const published = publishBundle(configMap, bundle, nowMs);
      await replaceObject(this.#options.requests, this.#configMap, published, this.#limits());
      return;
    }
    await this.#create(this.#configMap, publishBundle({ metadata: {} }, bundle, nowMs));
  }

  /** Creates an object that is missing. The chart brings both objects along, and grants no right to create them. */
  async #create(ref: ObjectRef, fields: Record<string, unknown> = {}): Promise<DataObject> {
    try {
      return await applyObject<DataObject>(this.#options.requests, ref, fields, this.#limits());
    } catch (cause) {
      if (!(cause instanceof KubeStatusError) || cause.status !== 403) throw cause;
      const { kind, namespace, name } = ref;
      const made = kind === 'Secret' ? `secret generic ${name}` : `configmap ${name}`;
      const message = `The ${kind} ${name} is missing, and the coordinator may not create it: kubectl -n ${namespace} create ${made}`;
      throw new CodedError('CERTIFICATE_INVALID', message, { cause });
    }
  }

  #limits(): { timeoutMs: number; signal: AbortSignal } {
    return { timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#options.signal };
  }
}
