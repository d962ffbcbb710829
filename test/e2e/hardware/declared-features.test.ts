import { afterAll, beforeAll, expect, test } from 'vitest';
import { RuleStage } from './rule-stage.ts';

// No kubelet runs here: the test writes to the status what a kubelet would.

let stage: RuleStage;
beforeAll(async () => {
  stage = await RuleStage.start({ 'accelerators/resize': 'declared:GuaranteedQoSPodCPUResize\n' });
});
afterAll(() => stage?.stop());

async function declare(node: string, ...declaredFeatures: string[]): Promise<void> {
  await stage.api.patch(`/api/v1/nodes/${node}/status`, { status: { declaredFeatures } });
  expect((await stage.read(node)).status).toMatchObject(declaredFeatures.length > 0 ? { declaredFeatures } : {});
}

test('a rule follows what a node declares, and asks a whole fleet anew for a feature that no rule named before', async () => {
  const node = await stage.node();
  await declare(node, 'GuaranteedQoSPodCPUResize', 'RestartAllContainersOnContainerExits');
  const RESIZE = 'accelerators/resize';
  await stage.until(node, { [RESIZE]: 'true' }, [RESIZE]);

  await stage.write(
    'accelerators/restart',
    'declared:RestartAllContainersOnContainerExits => yes\n!declared:Other => no\n',
  );
  const RESTART = 'accelerators/restart';
  const other = await stage.node();
  await stage.until(node, { [RESIZE]: 'true', [RESTART]: 'yes' }, [RESIZE, RESTART]);
  await stage.until(other, { [RESIZE]: undefined, [RESTART]: 'no' }, [RESTART]);

  await declare(node, 'Other');
  await stage.until(node, { [RESIZE]: undefined, [RESTART]: undefined });
});
