import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { imageCacheDir } from '../../../deploy/image/cached-input.ts';
import { reasonToSkip } from '../../../deploy/image/missing-input.test-fixtures.ts';
import { ALERTS } from '../../../deploy/source/monitoring/alerts.ts';
import type { KubeObject } from '../../control-plane/api-client.ts';
import type { NodeObject } from '../../control-plane/cluster.ts';
import { run } from '../../control-plane/run.ts';
import { waitFor } from '../../control-plane/wait-for.ts';
import { findPrometheus } from '../../monitoring/tools.ts';
import { httpGet } from '../../rig/http-get.ts';
import { startPluginConsole } from '../../rig/plugin-console.ts';
import { runPlugin } from '../../rig/run-plugin.ts';
import type { RealNode } from '../node.ts';
import { describeOnRealNodes } from '../on-real-nodes.ts';
import { gitpodNamespace, readyLabels } from './gitpod-pods.ts';
import { type LoadSummary, revisionLabel, underLoad } from './load.ts';
import {
  marksOf,
  namespace,
  type Product,
  poolLabelSet,
  poolLabelSets,
  release,
  secondsSince,
  soon,
  startProduct,
} from './product.ts';
import { registry, repository } from './product-image.ts';
import { panelsOfOutages, queriesWithoutData, replaceWsDaemons, startPrometheus } from './scraping.ts';

const pool = 'pool1';
const member = { labels: { agentpool: pool, 'gitpod.io/workload_workspace_regular': 'true' } };
const [wsDaemonReady = ''] = readyLabels;
const tags = { first: '0.1.0', next: '0.1.1' } as const;
/** One that hangs is killed when it has not ended in this time. */
const graceSeconds = 8;
const valuesFor = (tag: string) =>
  JSON.stringify({
    gitpod: { enabled: true },
    image: { registry, tag },
    agent: { terminationGracePeriodSeconds: graceSeconds },
    coordinator: { config: { readinessGate: 'both' } },
  });
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

describeOnRealNodes('the product, installed with Helm on real nodes without cluster DNS,', () => {
  let product: Product;
  let names: string[];
  let before: object[];
  let missing: string | undefined;

  beforeAll(async () => {
    const images = { imageCacheDir: imageCacheDir(process.env), tags: [tags.first, tags.next] as const };
    try {
      product = await startProduct({ nodes: [member, member], ...images });
    } catch (error) {
      missing = reasonToSkip(error, process.env['CI']);
      return;
    }
    names = product.cluster.nodes.map(({ name }) => name);
    before = await marks();
  }, 600_000);

  beforeEach(({ skip }) => skip(missing !== undefined, missing));

  afterAll(() => product?.stop());

  async function marks(): Promise<object[]> {
    return (await Promise.all(names.map((name) => product.node(name)))).map(marksOf);
  }

  function helm(command: string, tag: string): Promise<string> {
    return product.helm([command, ...release], { kubeconfig: product.cluster.kubeconfig, stdin: valuesFor(tag) });
  }

  /** Expects that since a moment the labels of services did not change, and the revision in the label of the pool only grew. */
  async function expectNoFlapping(sinceMs: number, { revision }: LoadSummary): Promise<void> {
    await product.labelled(names, [revisionLabel], String(revision));
    for (const name of names) {
      const revisions = product.history.since(sinceMs, revisionLabel, name).map(({ to }) => Number(to ?? -1));
      expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
      expect(revisions.length).toBeGreaterThan(5);
    }
    const others = product.history.changes.filter(({ atMs, key }) => atMs >= sinceMs && key !== revisionLabel);
    expect(others, others.length > 0 ? await whatEventsSay() : '').toEqual([]);
    const since = product.seen.filter(({ atMs }) => atMs >= sinceMs);
    expect(since.flatMap(({ node }) => gatesOf(node))).toEqual([]);
  }

  /** Events of Nodes, which say why a label changed. */
  async function whatEventsSay(): Promise<string> {
    const path = '/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=Node';
    const events = (await product.cluster.api.list(path)) as (KubeObject & {
      lastTimestamp: string;
      reason: string;
      message: string;
    })[];
    return events.map(({ lastTimestamp, reason, message }) => `${lastTimestamp} ${reason}: ${message}`).join('\n');
  }

  /** Whatever was refused, or not answered, was sent again. */
  async function expectEveryReportAccepted(): Promise<void> {
    const nowSeconds = Date.now() / 1000;
    for (const pod of await product.pods('agent')) {
      await waitFor(
        `a report of ${pod.metadata.name} to be accepted`,
        async () =>
          (await product.metric(pod, 'rollcall_agent_last_report_accepted_timestamp_seconds')) > nowSeconds &&
          (await product.metric(pod, 'rollcall_agent_coordinator_connected')) === 1,
        soon,
      );
    }
  }

  async function expectNoRestarts(): Promise<void> {
    for (const pod of [...(await product.pods('agent')), ...(await product.pods('coordinator'))]) {
      expect(pod.status.containerStatuses).toEqual([expect.objectContaining({ restartCount: 0, ready: true })]);
    }
  }

  test('rolls out in a namespace that enforces the Pod Security level restricted', async ({ annotate }) => {
    const { api } = product.cluster;
    const { metadata } = await api.get(`/api/v1/namespaces/${namespace}`);
    expect(metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    const startedMs = performance.now();
    await helm('install', tags.first);
    await product.rolledOut();
    const rolledOutSeconds = secondsSince(startedMs);
    await product.labelled(names, readyLabels, 'true');
    const { pulledBytes, unpackedBytes } = product.image;
    await annotate(`image: ${megabytes(pulledBytes)} to pull, ${megabytes(unpackedBytes)} unpacked`, 'figure');
    await annotate(
      `installed and rolled out in ${rolledOutSeconds} s, nodes labelled in ${secondsSince(startedMs)} s`,
      'figure',
    );
    expect((await product.pods('agent')).map(({ spec }) => spec.nodeName).toSorted()).toEqual(names);
    expect((await product.pods('coordinator')).map(({ spec }) => spec.nodeName).toSorted()).toEqual(names);
    await expectNoRestarts();
  });

  test('answers kubelets and Prometheus', async () => {
    for (const component of ['agent', 'coordinator'] as const) {
      for (const pod of await product.pods(component)) {
        expect(await product.ask(pod, '/healthz')).toMatchObject({ status: 200 });
        expect(await product.ask(pod, '/readyz')).toMatchObject({ status: 200 });
        const { status, body } = await product.ask(pod, '/metrics');
        expect([status, body]).toEqual([200, expect.stringContaining(`rollcall_${component}_`)]);
      }
    }
  });

  test('is asked by the plugin of kubectl, by way of the API server', async () => {
    const plugin = (...args: string[]) => runPlugin([...args, `--kubeconfig=${product.cluster.kubeconfig}`]);
    const status = await plugin('status', '--wait=120s');
    expect(status).toMatchObject({
      stderr: expect.any(String),
      stdout: expect.stringMatching(/^The work of rollcall is done/),
    });
    expect(status.exitCode).toBe(0);
    const [name = ''] = names;
    const why = await plugin('why', `node/${name}`, wsDaemonReady);
    expect(why.stdout).toMatch(new RegExp(`^node/${name} has the label ${wsDaemonReady}: `));
    expect(why.stdout).toContain('"true", owned by rollcall');
    expect(JSON.parse((await plugin('audit', '-o', 'json')).stdout)).toMatchObject({ nodes: names.length });
    const check = await plugin('check');
    expect(check).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^Rollcall is installed correctly\.\n/),
    });
    const asNobody = await plugin('status', '-n', 'kube-system');
    expect(asNobody).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('rollcall is not in the namespace'),
    });
  }, 180_000);

  test('has a console that the plugin opens by way of the API server, until Ctrl-C', async () => {
    const console = await startPluginConsole([`--kubeconfig=${product.cluster.kubeconfig}`]);
    expect(await httpGet(console.url)).toMatchObject({ status: 200, body: expect.stringContaining('<html') });
    const { status, body } = await httpGet(`${console.url}v1/nodes`);
    expect([status, JSON.parse(body)]).toMatchObject([
      200,
      { replica: { leading: true }, nodes: names.map((name) => ({ name })) },
    ]);
    expect(await console.interrupt()).toBe(0);
    await expect(httpGet(console.url)).rejects.toThrow('ECONNREFUSED');
  });

  test('has exactly the rights that it needs', async () => {
    const rightsOf = async (account: string) => {
      const as = `--as=system:serviceaccount:${namespace}:${account}`;
      const list = await product.cluster.kubectl(['auth', 'can-i', '--list', '--namespace', namespace, as]);
      return list.trim().split('\n').slice(1).map(rightIn);
    };
    const anybody = await rightsOf('anybody');
    expect((await rightsOf('rollcall-agent')).toSorted()).toEqual(anybody.toSorted());
    const more = (await rightsOf('rollcall-coordinator')).filter((right) => !anybody.includes(right));
    const own = 'get list watch create update patch';
    expect(more.toSorted()).toEqual(
      [
        'nodes: get list watch patch',
        'nodes/status: patch',
        'pods: list watch',
        'nodepoollabels.rollcall.dev: list watch',
        'nodepoollabels.rollcall.dev/status: patch',
        'nodepoollabelsets.labels.banzaicloud.io: list watch',
        'nodepoollabelsets.labels.banzaicloud.io/status: patch',
        'nodeholds.rollcall.dev: list watch',
        'nodeholds.rollcall.dev/status: patch',
        'nodeservices.rollcall.dev: list watch',
        'nodeservices.rollcall.dev/status: patch',
        'csinodes.storage.k8s.io: list watch',
        'events: create patch',
        'tokenreviews.authentication.k8s.io: create',
        `leases.coordination.k8s.io/rollcall-coordinator: ${own}`,
        'secrets/rollcall-coordinator-tls: get list watch update',
        'configmaps/rollcall-coordinator-ca: get list watch update',
      ].toSorted(),
    );
  });

  test('restarts its agents under load without a label that flaps', async ({ annotate }) => {
    await product.cluster.api.post(poolLabelSets, poolLabelSet(pool, { [revisionLabel]: '0' }));
    await product.labelled(names, [revisionLabel], '0');
    const sinceMs = performance.now();
    let seconds = 0;
    const summary = await underLoad(product, pool, async () => {
      seconds = await product.restart('agent');
      await expectEveryReportAccepted();
    });
    await annotate(`agents restarted one by one in ${seconds} s; ${told(summary)}`, 'figure');
    await expectNoFlapping(sinceMs, summary);
    await expectNoRestarts();
  });

  test('restarts its coordinators under load without a label that flaps', async ({ annotate }) => {
    const sinceMs = performance.now();
    let seconds = 0;
    const summary = await underLoad(product, pool, async () => {
      seconds = await product.restart('coordinator');
      await expectEveryReportAccepted();
    });
    await annotate(`coordinators restarted one by one in ${seconds} s; ${told(summary)}`, 'figure');
    await expectNoFlapping(sinceMs, summary);
    await expectNoRestarts();
  });

  test('becomes another image under load without a label that flaps', async ({ annotate }) => {
    const sinceMs = performance.now();
    let seconds = 0;
    const summary = await underLoad(product, pool, async () => {
      const startedMs = performance.now();
      await helm('upgrade', tags.next);
      await product.rolledOut();
      seconds = secondsSince(startedMs);
      await expectEveryReportAccepted();
    });
    await annotate(`upgraded in ${seconds} s; ${told(summary)}`, 'figure');
    await expectNoFlapping(sinceMs, summary);
    for (const pod of [...(await product.pods('agent')), ...(await product.pods('coordinator'))]) {
      expect(JSON.stringify(pod.spec)).toContain(`"image":"${repository}:${tags.next}"`);
    }
    await expectNoRestarts();
  });

  test('is scraped by Prometheus, which has nothing to alert about and fills the dashboard', async (context) => {
    const tools = await findPrometheus();
    if ('missing' in tools) return context.skip(tools.missing);
    const pods = [...(await product.pods('agent')), ...(await product.pods('coordinator'))];
    const startedMs = performance.now();
    const prometheus = await startPrometheus(product, tools.prometheus);
    try {
      const addresses = pods.map(({ status }) => `${status.podIP}:8086`).toSorted();
      const areUp = async () => (await prometheus.targets('up')).toSorted().join() === addresses.join();
      await waitFor('every pod to be scraped', areUp, soon);
      const figures = [`${pods.length} pods scraped after ${secondsSince(startedMs)} s`];
      expect((await prometheus.targets()).toSorted()).toEqual(addresses);
      const programs = await prometheus.query('{__name__=~"rollcall_(agent|coordinator)_build_info"}');
      expect(
        programs.map(({ metric }) => `${metric['namespace']} ${metric['pod']} ${metric['node']}`).toSorted(),
      ).toEqual(pods.map(({ metadata, spec }) => `${namespace} ${metadata.name} ${spec.nodeName}`).toSorted());

      await underLoad(product, pool, async () => {
        expect(await queriesWithoutData(prometheus, panelsOfOutages)).toEqual([]);
      });
      figures.push(`what needs no outage on the dashboard after ${secondsSince(startedMs)} s`);
      const rules = await prometheus.evaluatedRules();
      expect(rules.map(({ name }) => name).toSorted()).toEqual(ALERTS.map(({ name }) => name).toSorted());
      expect(rules.filter(({ state, health }) => state !== 'inactive' || health !== 'ok')).toEqual([]);

      await replaceWsDaemons(product, names, wsDaemonReady);
      // A rate needs a sample from before what is counted.
      const started = async () => (await prometheus.query('gitpod_node_labeler_ready_seconds_count')).length > 0;
      await waitFor('the first start to be scraped', started, soon);
      await replaceWsDaemons(product, names, wsDaemonReady);
      expect(await queriesWithoutData(prometheus)).toEqual([]);
      figures.push(`all after ${secondsSince(startedMs)} s`);
      await context.annotate(figures.join(', '), 'figure');
    } finally {
      await prometheus.stop();
    }
    for (const pod of pods) {
      const { body } = await product.ask(pod, '/metrics');
      const { code, out, err } = await run(tools.promtool, ['check', 'metrics'], process.env, { stdin: body });
      expect([pod.metadata.name, code, out, err]).toEqual([pod.metadata.name, 0, '', '']);
    }
  });

  test('is small', async ({ annotate }) => {
    for (const component of ['agent', 'coordinator'] as const) {
      const bytes = await Promise.all((await product.pods(component)).map((pod) => product.memoryOf(pod)));
      const told = bytes.map(({ rss, workingSet }) => `RSS ${megabytes(rss)}, working set ${megabytes(workingSet)}`);
      await annotate(`${component}s as the kubelet reports them: ${told.join('; ')}`, 'figure');
      for (const { workingSet } of bytes) expect(workingSet).toBeLessThan(component === 'agent' ? 64e6 : 192e6);
    }
  });

  test('has an agent that hangs started again, and its node is silent until then', async ({ annotate }) => {
    const node = product.cluster.nodes[0] as RealNode;
    const pod = await product.agentOn(node.name);
    const sinceMs = performance.now();
    for (const pid of await node.podProcesses(pod.metadata.uid ?? '')) process.kill(pid, 'SIGSTOP');
    await product.labelled([node.name], readyLabels, undefined);
    const silentSeconds = secondsSince(sinceMs);
    await waitFor(
      'the agent to be started again',
      async () => {
        const [container] = (await product.agentOn(node.name)).status.containerStatuses ?? [];
        return container?.restartCount === 1 && container.ready;
      },
      soon,
    );
    const restartedSeconds = secondsSince(sinceMs);
    await product.labelled([node.name], readyLabels, 'true');
    await annotate(
      `hung agent: labels gone after ${silentSeconds} s, started again after ${restartedSeconds} s, labels back after ${secondsSince(sinceMs)} s`,
      'figure',
    );
    for (const key of readyLabels) {
      expect(product.history.since(sinceMs, key).map(({ node, to }) => [node, to])).toEqual([
        [node.name, undefined],
        [node.name, 'true'],
      ]);
    }
  });

  test('leaves no label, annotation or taint behind when it is uninstalled', async ({ annotate }) => {
    const { api, kubeconfig } = product.cluster;
    await api.delete(`/apis/apps/v1/namespaces/${gitpodNamespace}/daemonsets/ws-daemon`);
    const isTainted = async (name: string) => gatesOf(await product.node(name)).length === 1;
    for (const name of names) await waitFor(`a taint on ${name}`, () => isTainted(name), soon);
    expect(await marks()).not.toEqual(before);
    const startedMs = performance.now();
    const uninstall = ['uninstall', 'rollcall', '--namespace', namespace, '--timeout', '90s'];
    await product.helm(uninstall, { kubeconfig });
    await annotate(`uninstalled in ${secondsSince(startedMs)} s`, 'figure');
    expect(await marks()).toEqual(before);
    expect([...(await product.pods('agent')), ...(await product.pods('coordinator'))]).toEqual([]);
  });
});

function told({ reports, revision }: LoadSummary): string {
  const { accepted, refused, failed } = reports;
  return `reports: ${accepted} accepted, ${refused} refused, ${failed} not answered and sent again; ${revision} changes of a label`;
}

/** Keys of its taints that say that a service is not ready. */
function gatesOf({ spec }: NodeObject): string[] {
  return (spec.taints ?? []).map(({ key }) => key).filter((key) => key.startsWith('gitpod.io/'));
}

/** A line of `kubectl auth can-i --list`: what it is about, and the verbs. */
function rightIn(line: string): string {
  const [, resource = '', url = '', name = '', verbs = ''] =
    /^(\S*)\s+\[(.*?)\]\s+\[(.*?)\]\s+\[(.*?)\]$/.exec(line) ?? [];
  return `${resource}${url}${name === '' ? '' : `/${name}`}: ${verbs}`;
}
