import type { DeviceReport, FullReport, Heartbeat, ReportContent, ServiceToProbe } from '@rollcall/common/report.ts';
import type { Intern } from './intern.ts';

/** Who sent a report, as the API server vouches for it. */
export type ReportIdentity = {
  node: string;
  nodeUid: string;
  pod?: { name: string; uid: string };
  /** Seconds since the epoch; when the token was issued. Absent when the token does not say. */
  issuedAtSeconds?: number;
};

/**
 * What became of a report. `ignored`: its sequence is old, or jumps. `beside`: its agent is alive and does not count,
 * since the agent of a newer pod does. `superseded`: its session is over. `leaving`: no agent of the node is left.
 * `unknown-digest`: a heartbeat for content that is not here; the agent is alive, but must send it in full.
 */
export type SessionResult =
  | 'content'
  | 'heartbeat'
  | 'leaving'
  | 'beside'
  | 'superseded'
  | 'unknown-digest'
  | 'ignored';

/** A session of an agent. Its pod is part of its key: who knows the id alone cannot speak in it. */
type AgentSession = {
  id: string;
  podUid: string | undefined;
  /** By the wall clock: when its pod was created, or where that is not known, its token was issued. */
  bornMs: number;
  /** Of the last report that counted. A session may begin anywhere: a new leader hears of it in the middle. */
  sequence: number | undefined;
  heardMs: number;
  /** It said goodbye, which its next report takes back. */
  left: boolean;
  /** Its pod has a newer session, or is gone. Nothing that still comes in this session counts. */
  isOver: boolean;
  digest: string | undefined;
  content: ReportContent | undefined;
  /** Since when each check is sent to it, by digest. Monotonic. */
  told: ReadonlyMap<string, number>;
  /** The list that this is of. */
  toldOf?: readonly ServiceToProbe[] | undefined;
};

/** What is known of the sender of a report: `podCreatedMs` by the wall clock, where the pod is watched. */
export type Sender = Pick<ReportIdentity, 'pod' | 'issuedAtSeconds'> & { podCreatedMs?: number | undefined };

/**
 * Two agents overlap in a rolling update; eight generations within one term are plenty. A session that is over and was
 * forgotten would begin anew, and end the newer one, whose agent is then asked for another.
 */
const SESSIONS_MAX = 8;

/**
 * How far a sequence may be ahead of the last that counted: what an agent sends in an outage of hours at five
 * transmissions a second. After more than that, the agent begins a new session.
 */
export const SEQUENCE_STEP_MAX = 100_000;

const NOT_TOLD: ReadonlyMap<string, number> = new Map();

/** What is as it was, is the very same: others hold on to it, and compare by it. */
function kept<T>(before: T | undefined, now: T): T {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(now) ? before : now;
}

/**
 * What the agents of one node said. Two of them overlap in a rolling update, which may be undone, so that reports of
 * different sessions arrive mixed: the newer pod counts, and within one pod the newest boot. Of those that left or fell
 * silent none counts while another is alive.
 */
export class AgentSessions {
  readonly #windowMs: number;
  readonly #internDevice: Intern<DeviceReport>;
  /** In the order in which they were first heard. */
  #sessions: AgentSession[] = [];
  #counts: AgentSession | undefined;

  /** `windowMs`: after how long without a report a boot is silent. */
  constructor(windowMs: number, internDevice: Intern<DeviceReport>) {
    this.#windowMs = windowMs;
    this.#internDevice = internDevice;
  }

  /** `nowMs` by the monotonic clock. */
  admit(report: FullReport | Heartbeat, sender: Sender, nowMs: number): SessionResult {
    const boot = this.#bootOf(report.boot, sender, nowMs);
    const step = report.sequence - (boot.sequence ?? report.sequence - 1);
    if (step <= 0 || step > SEQUENCE_STEP_MAX) return 'ignored';
    boot.sequence = report.sequence;
    if (boot.isOver) return report.leaving ? 'beside' : 'superseded';
    // After a gap longer than the window we cannot know which replies arrived, so forget them.
    if (nowMs - boot.heardMs >= this.#windowMs) {
      boot.told = NOT_TOLD;
      boot.toldOf = undefined;
    }
    boot.heardMs = nowMs;
    boot.bornMs = sender.podCreatedMs ?? boot.bornMs;
    // A goodbye that is said again, after the session had said what it saw, is no other one.
    const hadLeft = boot.left && boot.content !== undefined;
    boot.left = report.leaving === true;
    if ('services' in report) {
      boot.content = this.#shared(report);
      boot.digest = report.digest;
    }
    const isKnown = boot.content !== undefined && boot.digest === report.digest;
    this.#choose(nowMs);
    if (boot.left && hadLeft) return 'beside';
    if (boot.left && !this.#sessions.some((each) => each.content && this.#isAlive(each, nowMs))) return 'leaving';
    if (!isKnown) return 'unknown-digest';
    if (this.#counts !== boot || boot.left) return 'beside';
    return 'services' in report ? 'content' : 'heartbeat';
  }

  /** The sessions of a pod that is gone are over. Returns whether no agent of the node is left. */
  podGone(podUid: string, nowMs: number): boolean {
    this.#endSessions(podUid);
    this.#choose(nowMs);
    return !this.#sessions.some((boot) => this.#isAlive(boot, nowMs));
  }

  /** What the boot that counts said last. Parts of it that a later report repeats are the very same objects then. */
  get content(): ReportContent | undefined {
    return this.#counts?.content;
  }

  /** The boot that counts. */
  get speaker(): string | undefined {
    return this.#counts?.id;
  }

  /** When the pod of the boot that counts was made, by the wall clock. */
  get speakerBornMs(): number | undefined {
    return this.#counts?.bornMs;
  }

  /** The reply to a boot tells it of these services, and of no others. The very same list is the same news. */
  tell(id: string, podUid: string | undefined, services: readonly ServiceToProbe[], nowMs: number): void {
    const boot = this.#find(id, podUid);
    if (!boot || boot.toldOf === services) return;
    boot.toldOf = services;
    boot.told = new Map(services.map(({ digest }) => [digest, boot.told.get(digest) ?? nowMs]));
  }

  /** Since when each check is sent to the session that counts, by digest; empty for a new session. */
  get told(): ReadonlyMap<string, number> {
    return this.#counts?.told ?? NOT_TOLD;
  }

  /** Returns the same for these checks, by the name of the service. Checks that were not assigned to it are left out. */
  toldSince(services: readonly ServiceToProbe[]): ReadonlyMap<string, number> {
    const entries = services.map(({ name, digest }) => [name, this.told.get(digest)] as const);
    return new Map(entries.flatMap(([name, sinceMs]) => (sinceMs === undefined ? [] : [[name, sinceMs]])));
  }

  #bootOf(id: string, { pod, podCreatedMs, issuedAtSeconds = 0 }: Sender, nowMs: number): AgentSession {
    const known = this.#find(id, pod?.uid);
    if (known) return known;
    const boot: AgentSession = {
      id,
      podUid: pod?.uid,
      bornMs: podCreatedMs ?? issuedAtSeconds * 1000,
      sequence: undefined,
      heardMs: nowMs,
      left: false,
      isOver: false,
      digest: undefined,
      content: undefined,
      told: NOT_TOLD,
    };
    // The containers of a pod do not overlap: those before this one have ended, with or without a goodbye.
    if (pod) this.#endSessions(pod.uid);
    if (this.#sessions.length === SESSIONS_MAX) this.#dropOne(nowMs);
    this.#sessions.push(boot);
    return boot;
  }

  #find(id: string, podUid: string | undefined): AgentSession | undefined {
    return this.#sessions.find((boot) => boot.id === id && boot.podUid === podUid);
  }

  #endSessions(podUid: string): void {
    for (const boot of this.#sessions) if (boot.podUid === podUid) boot.isOver = true;
  }

  #dropOne(nowMs: number): void {
    const others = this.#sessions.filter((boot) => boot !== this.#counts);
    const dropped = others.find((boot) => !this.#isAlive(boot, nowMs)) ?? others[0];
    this.#sessions = this.#sessions.filter((boot) => boot !== dropped);
  }

  /**
   * The newest of those that are alive and have said what they see; while there is none, who spoke last. One that counted
   * before counts again with its next report: it may hang, and what it said is older than the word of the one that left.
   */
  #choose(nowMs: number): void {
    let newest: AgentSession | undefined;
    let last = this.#counts;
    const sinceMs = this.#counts?.heardMs ?? 0;
    for (const boot of this.#sessions) {
      if (!boot.content) continue;
      const mayCount = boot === this.#counts || boot.heardMs >= sinceMs;
      if (mayCount && this.#isAlive(boot, nowMs) && boot.bornMs >= (newest?.bornMs ?? 0)) newest = boot;
      if (last === undefined || boot.heardMs > last.heardMs) last = boot;
    }
    this.#counts = newest ?? last;
    for (const boot of this.#sessions) {
      if (boot === this.#counts || boot === last || this.#isAlive(boot, nowMs)) continue;
      // Should it come back, it is asked.
      boot.content = undefined;
      boot.digest = undefined;
    }
  }

  #isAlive({ left, isOver, heardMs }: AgentSession, nowMs: number): boolean {
    return !left && !isOver && nowMs - heardMs < this.#windowMs;
  }

  #shared(report: FullReport): ReportContent {
    const { services, devices, unread = [], facts, answers = {}, values = {}, version } = report;
    const before = this.content;
    return {
      services: kept(before?.services, services),
      devices: kept(
        before?.devices,
        devices.map((device) => this.#internDevice(device)),
      ),
      unread: kept(before?.unread, unread),
      facts: kept(before?.facts, facts),
      answers: kept(before?.answers, answers),
      values: kept(before?.values, values),
      ...(version === undefined ? {} : { version }),
    };
  }
}
