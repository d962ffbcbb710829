import type { Transition } from './transitions.ts';

/** Callbacks for those who follow the nodes: Events, metrics, eviction, notification, the console. */
export type Subscribers = {
  /** A node may be other than it was. */
  changed: (node: string) => void;
  /** The Node is gone. */
  gone: (node: string) => void;
  /** This replica begins to lead, or ends. */
  restart: () => void;
  /** What happened at one moment, to one node or to the fleet. */
  happened: (transitions: readonly Transition[]) => void;
};
