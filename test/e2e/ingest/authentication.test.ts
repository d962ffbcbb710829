import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createNode, createPod, requestToken } from '../../control-plane/cluster.ts';
import { agentServiceAccount, ownNamespace, reportAudience } from '../../control-plane/rbac.ts';
import { AuthStage, detail } from './auth-stage.ts';

/** Both ways to tell whose token it is give the same answers. */
describe.each([
  ['by the keys of the API server', true],
  ['by TokenReview', false],
])('%s', (_how, local) => {
  let stage: AuthStage;

  beforeAll(async () => {
    stage = await AuthStage.start({ local });
  });

  afterAll(() => stage?.stop());

  describe('an agent', () => {
    it('is known by the token of its pod: node, uid of the node as watched, pod and time of issue', async () => {
      const agent = await stage.startAgent('known');
      await stage.accepted(agent);
      const node = await stage.controlPlane.api.get('/api/v1/nodes/known');
      const { issuedAtSeconds, ...sender } = stage.senders.at(-1) ?? {};
      expect(sender).toEqual({
        node: 'known',
        nodeUid: node.metadata.uid,
        pod: { name: 'agent-known', uid: agent.pod.metadata.uid },
      });
      expect(Math.abs((issuedAtSeconds ?? 0) - Date.now() / 1000)).toBeLessThan(60);
    });

    it('costs nothing at the API server, however often it reports', async () => {
      const agent = await stage.startAgent('chatty');
      await stage.accepted(agent);
      const before = await stage.reviews();
      const answers = await Promise.all(Array.from({ length: 100 }, () => stage.report('chatty', agent.token)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
      expect(await stage.reviews()).toBe(before);
    });

    it('may not report for another node', async () => {
      const [one, other] = [await stage.startAgent('one'), await stage.startAgent('other')];
      await stage.accepted(other);
      const answer = await stage.report('one', other.token);
      expect(answer.status).toBe(403);
      expect(detail(answer)).toContain('other');
      await stage.accepted(one);
    });

    it('is refused at once when its pod is deleted, though its token was accepted a moment ago', async () => {
      const agent = await stage.startAgent('deleted-pod');
      await stage.accepted(agent);
      await stage.deletePod('deleted-pod');
      await stage.refused(agent, 401);
      expect((await stage.report('deleted-pod', agent.token)).status).toBe(401);
    });

    it('goes on being heard when its node was deleted and made anew under it, as long as its pod is there', async () => {
      const agent = await stage.startAgent('made-anew');
      await stage.accepted(agent);
      await stage.controlPlane.api.delete('/api/v1/nodes/made-anew');
      await stage.refused(agent, 503);
      await createNode(stage.controlPlane.api, 'made-anew');
      await stage.accepted(agent);
      const node = await stage.controlPlane.api.get('/api/v1/nodes/made-anew');
      expect(stage.senders.at(-1)?.nodeUid).toBe(node.metadata.uid);
      await stage.deletePod('made-anew');
      await stage.refused(agent, 401);
    });
  });

  describe('a token', () => {
    it('for another audience is refused with 401', async () => {
      const agent = await stage.startAgent('audience');
      await stage.accepted(agent);
      const boundPod = { name: 'agent-audience', uid: agent.pod.metadata.uid ?? '' };
      const forApiServer = await requestToken(stage.controlPlane.api, {
        namespace: ownNamespace,
        serviceAccount: agentServiceAccount,
        boundPod,
      });
      const answer = await stage.report('audience', forApiServer);
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toContain('invalid_token');
      expect(answer.body).not.toContain(forApiServer);
    });

    it('of another account is refused with 403, though it is bound to a pod on the node', async () => {
      await stage.startAgent('account');
      const { api } = stage.controlPlane;
      const pod = await createPod(api, { namespace: ownNamespace, name: 'intruder', nodeName: 'account' });
      const token = await requestToken(api, {
        namespace: ownNamespace,
        serviceAccount: 'default',
        audiences: [reportAudience],
        boundPod: { name: 'intruder', uid: pod.metadata.uid ?? '' },
      });
      const answer = await stage.report('account', token);
      expect(answer.status).toBe(403);
      expect(detail(answer)).toContain(`system:serviceaccount:${ownNamespace}:default`);
    });

    it.each([
      ['that is made up', 'abc.def.ghi'],
      ['without a signature', `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
    ])('%s is refused with 401', async (_what, token) => {
      expect((await stage.report('known', token)).status).toBe(401);
    });

    it('that was changed, or signed with another key, is refused with 401', async () => {
      const agent = await stage.startAgent('forged');
      await stage.accepted(agent);
      const [head, claims, signature] = agent.token.split('.');
      const forged = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString()) as { exp: number };
      forged.exp += 86_400;
      const changed = [head, Buffer.from(JSON.stringify(forged)).toString('base64url'), signature].join('.');
      await stage.refused({ node: 'forged', token: changed }, 401);
      await stage.accepted(agent);
    });
  });
});
