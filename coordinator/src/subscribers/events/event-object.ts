import { rfc3339 } from '@rollcall/common/rfc3339.ts';

/** The object that an Event is about. One without a namespace, such as a Node, has its Events in `default`. */
export type EventSubject = { apiVersion: string; kind: string; name: string; uid: string; namespace?: string };

/** Something that happened to an object. */
export type EventNews = {
  subject: EventSubject;
  type: 'Normal' | 'Warning';
  /** In CamelCase, for machines: what happened. */
  reason: string;
  /** One sentence, for people. Equal news has the equal message, so that it becomes one Event with a count. */
  message: string;
};

/** For what concerns the fleet as a whole. Its uid is not known here; Events do without. */
export function leaseSubject(lease: { namespace: string; name: string }): EventSubject {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', uid: '', ...lease };
}

/** An Event as it was last told, or is to be told. */
export type EventRecord = EventNews & {
  name: string;
  /** Wall clock, in milliseconds since the epoch. */
  firstMs: number;
  lastMs: number;
  count: number;
};

const COMPONENT = 'rollcall';
/** What the API server allows in the name of an Event. */
const NAME_LENGTH_MAX = 253;
/** What the API server allows in the newer API for Events; the older one would take anything. */
const MESSAGE_BYTES_MAX = 1024;
const ELLIPSIS = '…';
const MESSAGE_SPACE = new Uint8Array(MESSAGE_BYTES_MAX - Buffer.byteLength(ELLIPSIS));

/** The Event as core/v1 has it. Without `eventTime`, which would make it one of the newer kind that has no count. */
export function eventObject(event: EventRecord, instance: string): object {
  const { subject, type, reason, message, name, count } = event;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace(event) },
    involvedObject: subject,
    type,
    reason,
    // Strict readers want a word for what was done; here the reason says that.
    action: reason,
    message,
    count,
    firstTimestamp: rfc3339(event.firstMs),
    lastTimestamp: rfc3339(event.lastMs),
    source: { component: COMPONENT },
    reportingComponent: COMPONENT,
    reportingInstance: instance,
  };
}

/** What changes of an Event that happens again, as a merge patch. */
export function eventRaise({ count, lastMs }: EventRecord): object {
  return { count, lastTimestamp: rfc3339(lastMs) };
}

export function eventNamespace({ subject }: Pick<EventNews, 'subject'>): string {
  return subject.namespace ?? 'default';
}

/** What Events about a NodeService are attached to. */
export function serviceSubject({ name, uid }: { name: string; uid: string }): EventSubject {
  return { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeService', name, uid };
}

/** `<subject>.<hex>`, like the names of client-go. `random` is a number in [0, 1). */
export function eventName(subjectName: string, nowMs: number, random: number): string {
  const suffix = `${nowMs.toString(16)}${Math.floor(random * 0x10_00_00)
    .toString(16)
    .padStart(5, '0')}`;
  const prefix = subjectName.slice(0, NAME_LENGTH_MAX - suffix.length - 1);
  // A name that was cut may end in what must not stand before a dot.
  return `${prefix.replace(/[^a-z0-9]+$/, '')}.${suffix}`;
}

/** The message, or as many whole characters of it as fit. */
export function boundedMessage(message: string): string {
  if (Buffer.byteLength(message) <= MESSAGE_BYTES_MAX) return message;
  const { read } = new TextEncoder().encodeInto(message, MESSAGE_SPACE);
  return `${message.slice(0, read)}${ELLIPSIS}`;
}

/** Several messages in as few as an API server takes, each of them whole. */
export function packMessages(messages: readonly string[]): string[] {
  const packed: string[] = [];
  for (const message of messages) {
    const last = packed.at(-1);
    const together = `${last}; ${message}`;
    if (last !== undefined && Buffer.byteLength(together) <= MESSAGE_BYTES_MAX) packed[packed.length - 1] = together;
    else packed.push(message);
  }
  return packed;
}
