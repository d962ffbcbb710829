/** A promise of SECURITY.md in one sentence, and the test that shows it: its file, and its name as it stands there. */
export type SecurityPromise = { area: string; promise: string; file: string; test: string };

const AUTHENTICATION = 'test/e2e/ingest/authentication.test.ts';
const NEIGHBOURHOOD = 'test/e2e/hostile/neighbourhood.test.ts';
const RIGHTS = 'test/chart/least-rights.test.ts';
const FENCE = 'test/e2e/pools/fence.test.ts';

/** One line for each promise. The table in SECURITY.md is generated from this list. */
// biome-ignore format: one line for each promise
export const PROMISES: readonly SecurityPromise[] = [
  { area: 'Tokens', promise: 'A token for another audience is refused.', file: AUTHENTICATION, test: 'for another audience is refused with 401' },
  { area: 'Tokens', promise: 'A token of another account is refused.', file: AUTHENTICATION, test: 'of another account is refused with 403, though it is bound to a pod on the node' },
  { area: 'Tokens', promise: 'A token with another signature is refused.', file: AUTHENTICATION, test: 'that was signed by somebody else, or changed, is refused with 401' },
  { area: 'Tokens', promise: 'An agent reports for its own node only.', file: AUTHENTICATION, test: 'may not report for another node' },
  { area: 'Tokens', promise: 'A token ends with its pod.', file: AUTHENTICATION, test: 'is refused at once when its pod is deleted, though its token was accepted a moment ago' },
  { area: 'Tokens', promise: 'A made-up token causes no TokenReview.', file: NEIGHBOURHOOD, test: 'that is made up costs no TokenReview, and an agent’s renewed one does not wait for it' },
  { area: 'Tokens', promise: 'The verdict of a token ends with its pod.', file: 'coordinator/src/ingest/bearer-auth.test.ts', test: 'is worth nothing once the pod is gone, or is on another node' },
  { area: 'Tokens', promise: 'A token has one spelling.', file: 'coordinator/src/ingest/token-claims.test.ts', test: 'takes one text for each three parts: whichever other one decodes to the same bytes is refused' },
  { area: 'Sessions', promise: 'A stolen token and boot id mute no agent.', file: 'test/e2e/hostile/sessions.test.ts', test: 'an agent whose sequence was used up begins a new session, and a killed service loses its label' },
  { area: 'Sessions', promise: 'A boot id reaches no session of another pod.', file: 'test/e2e/hostile/sessions.test.ts', test: 'the boot id of one pod does not reach the session of another' },
  { area: 'Sessions', promise: 'The id of a session is written nowhere.', file: 'test/e2e/hostile/sessions.test.ts', test: 'the boot id of an agent stands nowhere: not in logs, metrics, documents of the console, or Events' },
  { area: 'Connections', promise: 'Connections without an accepted token end soon, and agents are heard meanwhile.', file: NEIGHBOURHOOD, test: 'to the listener for reports end soon, and agents are heard meanwhile' },
  { area: 'Connections', promise: 'A connection without an accepted token has 10 s to its first request.', file: 'coordinator/src/ingest/places.test.ts', test: 'has 10 s to its first request' },
  { area: 'Connections', promise: 'Kept connections do not keep others from the health listeners.', file: NEIGHBOURHOOD, test: 'to the health listener of %s do not keep others out' },
  { area: 'Connections', promise: 'Requests that do not wait for answers end no agent.', file: 'test/e2e/hostile/pipelining.test.ts', test: 'survives three times as many requests as fit into one read' },
  { area: 'Connections', promise: 'Such requests delay neither the leader’s health nor its Lease.', file: 'test/e2e/hostile/pipelining.test.ts', test: 'sixteen connections that do not wait for answers cost the leader little, and delay neither /healthz nor the Lease' },
  { area: 'Connections', promise: 'Every answer but 200 counts as a refusal.', file: 'coordinator/src/ingest/reports-server.test.ts', test: 'close a connection on which three requests in a row were refused, whatever they asked for' },
  { area: 'Connections', promise: 'The body of a refused request is not read on.', file: 'test/e2e/hostile/pipelining.test.ts', test: 'ends the connection of a refused request instead of reading its body' },
  { area: 'Connections', promise: 'Metrics are rendered once for all who ask at the same time.', file: 'packages/common/src/observability-server.test.ts', test: 'cause one rendering, and each gets it' },
  { area: 'Connections', promise: 'By default no pod may ask for metrics.', file: 'test/chart/network-policy.test.ts', test: 'no pod may ask for metrics by default, except the one of helm test' },
  { area: 'Clocks', promise: 'Clocks that part end the right to write.', file: 'coordinator/src/kube/leadership.test.ts', test: 'covers nothing from when the clocks have parted by more than a second, %s, and ends at the next look' },
  { area: 'Clocks', promise: 'Certificates made by a wrong clock are replaced.', file: 'coordinator/src/tls/certificate-store.test.ts', test: 'certificates that were made by a clock that was %s are replaced within seconds of its correction' },
  { area: 'Credential plugins', promise: 'A hanging plugin is one process, and ends with its children.', file: 'coordinator/src/kube/exec-plugin.process.test.ts', test: 'is killed with its children when its time is up, if it %s' },
  { area: 'Redirects', promise: 'A redirect to plain HTTP receives no token.', file: 'agent/src/report/coordinator-client.test.ts', test: 'is never sent by plain HTTP where a redirect says so' },
  { area: 'Redirects', promise: 'An agent follows three redirects at most.', file: 'agent/src/report/coordinator-client.test.ts', test: 'is followed three times and no more' },
  { area: 'Input', promise: 'The bytes of a node are limited.', file: NEIGHBOURHOOD, test: 'that is stolen sends no more than a budget of bytes, and costs next to nothing beyond it' },
  { area: 'Input', promise: 'A report is accepted within its limits or refused.', file: 'coordinator/src/ingest/report-schema.hostile.test.ts', test: 'a report with faults is taken within the limits, or refused with a short problem' },
  { area: 'Input', promise: 'The listener for reports survives any bytes.', file: 'coordinator/src/ingest/hostile-bytes.test.ts', test: 'of any kind are answered properly or not at all, and the next client is served' },
  { area: 'Input', promise: 'The health listener survives any bytes.', file: 'packages/common/src/observability-server.hostile.test.ts', test: 'the health listener answers any bytes or closes the connection, and serves the next client' },
  { area: 'Input', promise: 'The scheduler extender survives any bytes.', file: 'coordinator/src/answer/extender/extender-server.hostile.test.ts', test: 'the scheduler extender answers any bytes or closes the connection, and serves the next client' },
  { area: 'Input', promise: 'A probe survives any answer of a service.', file: 'agent/src/probes/hostile-answers.test.ts', test: 'gets one verdict in time from the probe %j, with a short text' },
  { area: 'Input', promise: 'The largest NodeServices keep no agent from its list.', file: 'test/e2e/services/large-lists.test.ts', test: 'twelve of the largest NodeServices: what agents can take is in force, and the others say why not' },
  { area: 'Input', promise: 'An odd reply ends no agent.', file: 'test/e2e/hostile/odd-replies.test.ts', test: 'an agent that is answered with %s goes on, and probes what it probed' },
  { area: 'Paths', promise: 'A swapped link leads no probe outside of the allowed directories.', file: 'agent/src/probes/probe-paths.race.test.ts', test: 'never leads a probe out of --probe-paths: %s' },
  { area: 'Paths', promise: 'Hung paths leave other probes working.', file: 'agent/src/main.hung-paths.process.test.ts', test: 'goes on seeing a CSI socket on another, says which path hangs, and withdraws nothing that it did not ask' },
  { area: 'Probes', promise: 'Metadata services are never probed.', file: 'agent/src/probes/target-rule.test.ts', test: 'never lets the metadata service of %s be probed at %s, and lets %s beside it' },
  { area: 'Logs', promise: 'Control characters are spelled out.', file: 'packages/common/src/logging.test.ts', test: 'for people spells out in every field, key and message: %s' },
  { area: 'Clear text', promise: 'Credentials go to no API server in clear text.', file: 'coordinator/src/main.process.test.ts', test: 'a coordinator that would send its token in clear text ends with 2 and one line, which names %s' },
  { area: 'Least privilege', promise: 'The coordinator has the listed rights and no others.', file: RIGHTS, test: 'of the coordinator are these and no others' },
  { area: 'Least privilege', promise: 'The agent has no rights.', file: RIGHTS, test: 'never go to agents, and to no account but these two' },
  { area: 'Console', promise: 'A console on loopback answers only requests to loopback.', file: 'coordinator/src/answer/console/console-server.test.ts', test: 'answers nothing to a request for the host %j, which a page of another origin may have sent' },
  { area: 'Console', promise: 'The page runs only its own script.', file: 'coordinator/src/answer/console/page.test.ts', test: 'the policy lets in what is in the page, and nothing else' },
  { area: 'Console', promise: 'A standby forwards requests to the leader and to no other address.', file: 'test/e2e/hostile/console.test.ts', test: 'the console of a standby sends a request for %j nowhere but to the leader' },
  { area: 'Fence', promise: 'The coordinator’s account cannot set or remove taints of others.', file: FENCE, test: 'set or remove the taints of others, or gate a node' },
  { area: 'Fence', promise: 'The coordinator’s account cannot change labels of others.', file: FENCE, test: 'apply a foreign label along with its own' },
  { area: 'Requests', promise: 'A write carries the uid of its Node.', file: 'test/e2e/apply/writes.test.ts', test: 'is left alone when it was re-created under the same name' },
  { area: 'Requests', promise: 'A removal changes no other key.', file: 'coordinator/src/apply/node-writer.test.ts', test: 'is a merge patch of nulls for one uid, and nothing else' },
];
