/** Whether this replica leads, and who does when it does not, as far as that is known. */
export type Role = { leading: true } | ({ leading: false } & Pick<Leader, 'leaderUrl' | 'leader'>);

/** Another replica that leads. */
export type Leader = {
  /** Where it takes reports. */
  leaderUrl?: string;
  /** Its pod, or its host. */
  leader?: string;
  /** Where it answers kube-scheduler. */
  schedulerUrl?: string;
  /** Where its console can be reached. */
  consoleUrl?: string;
};
