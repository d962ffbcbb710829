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
