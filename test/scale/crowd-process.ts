import { eachOf } from './each-of.ts';
import { FleetAgent } from './fleet-agent.ts';
import { answerQuestions } from './helper.ts';
import { ReportClient } from './report-client.ts';

/** Requests to this process. */
export type CrowdQuestion =
  /** Agents with these tokens; they are silent. */
  | { ask: 'agents'; urls: readonly string[]; ca: string; agents: readonly { node: string; token: string }[] }
  /** Full reports of these nodes, until each was taken. Heartbeats follow by themselves. */
  | { ask: 'report'; nodes: readonly string[]; ready: boolean }
  /** From now on it counts who was heard. */
  | { ask: 'mark' }
  | { ask: 'counts' };

export type CrowdCounts = {
  /** Reports that were not taken when they were sent, since the start. */
  refused: number;
  taken: number;
  /** Nodes of which a report was taken since the mark. */
  heard: number;
};

const REPORT_CONCURRENCY = 32;

const agents = new Map<string, { agent: FleetAgent; client: ReportClient }>();
const heard = new Set<string>();
let taken = 0;

answerQuestions<CrowdQuestion, CrowdCounts>(async (question) => {
  if (question.ask === 'agents') {
    for (const { node, token } of question.agents) {
      const client = new ReportClient(question.urls, question.ca, { socketsMax: 1 });
      const onTaken = () => {
        taken += 1;
        heard.add(node);
      };
      agents.set(node, { client, agent: new FleetAgent({ node, token, client, onTaken }) });
    }
  } else if (question.ask === 'report') {
    await eachOf(question.nodes, REPORT_CONCURRENCY, async (node) => {
      const agent = agents.get(node)?.agent;
      agent?.see(question.ready);
      await agent?.report();
    });
  } else if (question.ask === 'mark') {
    heard.clear();
  }
  const refused = agents.values().reduce((sum, { client }) => sum + client.refused, 0);
  return { refused, taken, heard: heard.size };
});
