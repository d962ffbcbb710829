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
  sentMs: ReadonlyMap<string, number>;
  /** The list that this is of. */
  sentList?: readonly ServiceToProbe[] | undefined;
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

const NOT_SENT: ReadonlyMap<string, number> = new Map();

/** Returns the previous value if it is deeply equal, so that callers can compare by identity. */
function kept<T>(before: T | undefined, now: T): T {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(now) ? before : now;
}

/**
 * What the agents of one node said. Two of them overlap in a rolling update, which may be undone, so that reports of
 * different sessions arrive mixed: the newer pod counts, and within one pod the newest session. Of those that left or fell
 * silent none counts while another is alive.
 */
export class AgentSessions {
  readonly #windowMs: number;
  readonly #internDevice: Intern<DeviceReport>;
  /** In the order in which they were first heard. */
  #sessions: AgentSession[] = [];
  #counts: AgentSession | undefined;

  /** `windowMs`: after how long without a report a session is silent. */
  constructor(windowMs: number, internDevice: Intern<DeviceReport>) {
    this.#windowMs = windowMs;
    this.#internDevice = internDevice;
  }

  /** `nowMs` by the monotonic clock. */
  admit(report: FullReport | Heartbeat, sender: Sender, nowMs: number): SessionResult {
    const session = this.#sessionOf(report.boot, sender, nowMs);
    const step = report.sequence - (session.sequence ?? report.sequence - 1);
    if (step <= 0 || step > SEQUENCE_STEP_MAX) return 'ignored';
    session.sequence = report.sequence;
    if (session.isOver) return report.leaving ? 'beside' : 'superseded';
    // After a gap longer than the window we cannot know which replies arrived, so forget them.
    if (nowMs - session.heardMs >= this.#windowMs) {
      session.sentMs = NOT_SENT;
      session.sentList = undefined;
    }
    session.heardMs = nowMs;
    session.bornMs = sender.podCreatedMs ?? session.bornMs;
    // A goodbye that is said again, after the session had said what it saw, is no other one.
    const hadLeft = session.left && session.content !== undefined;
    session.left = report.leaving === true;
    if ('services' in report) {
      session.content = this.#shared(report);
      session.digest = report.digest;
    }
    const isKnown = session.content !== undefined && session.digest === report.digest;
    this.#choose(nowMs);
    if (session.left && hadLeft) return 'beside';
    if (session.left && !this.#sessions.some((each) => each.content && this.#isAlive(each, nowMs))) return 'leaving';
    if (!isKnown) return 'unknown-digest';
    if (this.#counts !== session || session.left) return 'beside';
    return 'services' in report ? 'content' : 'heartbeat';
  }

  /** The sessions of a pod that is gone are over. Returns whether no agent of the node is left. */
  podGone(podUid: string, nowMs: number): boolean {
    this.#endSessions(podUid);
    this.#choose(nowMs);
    return !this.#sessions.some((session) => this.#isAlive(session, nowMs));
  }

  /** What the session that counts said last. Parts of it that a later report repeats are the very same objects then. */
  get content(): ReportContent | undefined {
    return this.#counts?.content;
  }

  /** The id of the session that counts. */
  get speaker(): string | undefined {
    return this.#counts?.id;
  }

  /** When the pod of the session that counts was made, by the wall clock. */
  get speakerBornMs(): number | undefined {
    return this.#counts?.bornMs;
  }

  /** The reply to a session assigns these services, and no others. The very same list changes nothing. */
  noteSent(id: string, podUid: string | undefined, services: readonly ServiceToProbe[], nowMs: number): void {
    const session = this.#find(id, podUid);
    if (!session || session.sentList === services) return;
    session.sentList = services;
    session.sentMs = new Map(services.map(({ digest }) => [digest, session.sentMs.get(digest) ?? nowMs]));
  }

  /** When each check was first sent to the session that counts, by digest; empty for a new session. */
  get sentMs(): ReadonlyMap<string, number> {
    return this.#counts?.sentMs ?? NOT_SENT;
  }

  /** Returns the same for these checks, by the name of the service. Checks that were not assigned to it are left out. */
  sentSince(services: readonly ServiceToProbe[]): ReadonlyMap<string, number> {
    const entries = services.map(({ name, digest }) => [name, this.sentMs.get(digest)] as const);
    return new Map(entries.flatMap(([name, sinceMs]) => (sinceMs === undefined ? [] : [[name, sinceMs]])));
  }

  #sessionOf(id: string, { pod, podCreatedMs, issuedAtSeconds = 0 }: Sender, nowMs: number): AgentSession {
    const known = this.#find(id, pod?.uid);
    if (known) return known;
    const session: AgentSession = {
      id,
      podUid: pod?.uid,
      bornMs: podCreatedMs ?? issuedAtSeconds * 1000,
      sequence: undefined,
      heardMs: nowMs,
      left: false,
      isOver: false,
      digest: undefined,
      content: undefined,
      sentMs: NOT_SENT,
    };
    // The containers of a pod do not overlap: those before this one have ended, with or without a goodbye.
    if (pod) this.#endSessions(pod.uid);
    if (this.#sessions.length === SESSIONS_MAX) this.#dropOne(nowMs);
    this.#sessions.push(session);
    return session;
  }

  #find(id: string, podUid: string | undefined): AgentSession | undefined {
    return this.#sessions.find((session) => session.id === id && session.podUid === podUid);
  }

  #endSessions(podUid: string): void {
    for (const session of this.#sessions) if (session.podUid === podUid) session.isOver = true;
  }

  #dropOne(nowMs: number): void {
    const others = this.#sessions.filter((session) => session !== this.#counts);
    const dropped = others.find((session) => !this.#isAlive(session, nowMs)) ?? others[0];
    this.#sessions = this.#sessions.filter((session) => session !== dropped);
  }

  /**
   * The newest of those that are alive and have said what they see; while there is none, who spoke last. One that counted
   * before counts again with its next report: it may hang, and what it said is older than the word of the one that left.
   */
  #choose(nowMs: number): void {
    let newest: AgentSession | undefined;
    let last = this.#counts;
    const sinceMs = this.#counts?.heardMs ?? 0;
    for (const session of this.#sessions) {
      if (!session.content) continue;
      const mayCount = session === this.#counts || session.heardMs >= sinceMs;
      if (mayCount && this.#isAlive(session, nowMs) && session.bornMs >= (newest?.bornMs ?? 0)) newest = session;
      if (last === undefined || session.heardMs > last.heardMs) last = session;
    }
    this.#counts = newest ?? last;
    for (const session of this.#sessions) {
      if (session === this.#counts || session === last || this.#isAlive(session, nowMs)) continue;
      // Should it come back, it is asked.
      session.content = undefined;
      session.digest = undefined;
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
