import { REPLY_BYTES_MAX } from '@rollcall/common/well-known.ts';
import { answered, type Place, type Spoil } from './spoils.ts';

type Service = { name: string; target?: { host: string; port: number }; [field: string]: unknown };
type Reply = { nextReportSeconds: number; full?: boolean; services: Service[]; servicesDigest: string };

/** Long enough for the agent to look where it is sent. */
const MISLEADS_MS = 1500;

/** The coordinator answers, with its list of services whether the agent has it or not, and something else is told. */
function told(change: (reply: Omit<Reply, 'servicesDigest'>, place: Place) => object): Spoil['act'] {
  return (passing, place) => {
    const falsify = (body: string) => {
      // With the digest of the true list, the coordinator would never send the list again.
      const { servicesDigest: _servicesDigest, ...reply } = JSON.parse(body) as Reply;
      return JSON.stringify(change(reply, place));
    };
    const { servicesDigest: _servicesDigest, ...report } = passing.report;
    const asking = { ...passing, forward: (other = report) => passing.forward(other) };
    return answered((answer) => (answer.status === 200 ? { ...answer, body: falsify(answer.body) } : answer))(
      asking,
      place,
    );
  };
}

function toldOfEach(change: (service: Service, place: Place) => object): Spoil {
  const act = told((reply, place) => ({
    ...reply,
    services: reply.services.map((service) => ({ ...service, ...change(service, place) })),
  }));
  // It tells what it sees there, and then what it sees here.
  return { act, misleads: true, lastsMs: MISLEADS_MS, more: 4 };
}

function sentTo(host: string, port?: number): Spoil {
  return toldOfEach(({ target }, { closedPort }) => ({
    target: { host: host || target?.host, port: port ?? closedPort },
  }));
}

function redirected(location: (place: Place) => string | undefined): Spoil['act'] {
  return async (_passing, place) => {
    const to = location(place);
    return { status: 307, headers: to === undefined ? {} : { location: to }, body: '' };
  };
}

/** Wrong answers of a coordinator to an agent. Each ends by itself. */
export const LIES: Readonly<Record<string, Spoil>> = {
  'taken, though it was not': {
    act: async () => ({ status: 200, headers: {}, body: JSON.stringify({ nextReportSeconds: 1 }) }),
  },
  'the content is wanted, each time for 3 s': { act: told((reply) => ({ ...reply, full: true })), lastsMs: 3000 },
  'another digest was heard': {
    act: ({ report, forward }) => forward({ ...report, digest: 'f'.repeat(64) }),
  },
  'a lower number was heard': { act: ({ report, forward }) => forward({ ...report, sequence: 0 }) },
  'a higher number was heard': {
    act: ({ report, forward }) => forward({ ...report, sequence: report.sequence + 1 }),
    more: 2,
  },
  'again in no time, for 3 s': { act: told((reply) => ({ ...reply, nextReportSeconds: 0 })), lastsMs: 3000 },
  'again in less than no time, for 3 s': {
    act: told((reply) => ({ ...reply, nextReportSeconds: -1e300 })),
    lastsMs: 3000,
  },
  'again at a word': { act: told((reply) => ({ ...reply, nextReportSeconds: 'soon' })) },
  'services that are no list': { act: told((reply) => ({ ...reply, services: { alpha: true } })) },
  'an answer longer than any': {
    act: answered((answer) => ({ ...answer, body: answer.body + ' '.repeat(REPLY_BYTES_MAX) })),
  },
  'the leader is where no process listens': {
    act: redirected(({ closedPort }) => `http://127.0.0.1:${closedPort}/v1/reports`),
  },
  'the leader is where no token may go': { act: redirected(() => 'http://192.0.2.1/v1/reports') },
  'the leader is elsewhere, and not where': { act: redirected(() => undefined) },
  'no services': { act: told((reply) => ({ ...reply, services: [] })), misleads: true, lastsMs: MISLEADS_MS, more: 4 },
  'a probe of an unknown kind': toldOfEach(() => ({ probe: { kind: 'telepathy' } })),
  'a target at which no process listens': sentTo(''),
  'a target that is link-local': sentTo('169.254.169.254', 80),
  'a target in another network': sentTo('192.0.2.1', 80),
  'a target that is a name': sentTo('metadata.example.com', 80),
  'a target that is none': toldOfEach(() => ({ target: { host: '', port: 99_999 } })),
};
