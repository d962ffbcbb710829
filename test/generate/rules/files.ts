import { ACCELERATORS } from '@rollcall/common/accelerators.ts';
import type { GeneratedFile } from '../manifests/files.ts';
import { manifestText } from '../manifests/manifest.ts';
import { DEFAULT_SETTINGS } from '../manifests/settings.ts';
import { acceleratorRule } from './accelerator-rule.ts';

/** A rule file for each known accelerator, and a ConfigMap that holds them all. */
export function ruleFiles(): GeneratedFile[] {
  const rules = ACCELERATORS.map((accelerator) => ({ name: accelerator.name, content: acceleratorRule(accelerator) }));
  return [
    ...rules.map(({ name, content }) => ({ file: `deploy/rules/accelerators/${name}`, content })),
    { file: 'deploy/rules/configmap.yaml', content: configMap(rules) },
  ];
}

function configMap(rules: readonly { name: string; content: string }[]): string {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'rollcall-accelerator-rules', namespace: DEFAULT_SETTINGS.namespace },
    data: Object.fromEntries(rules.map(({ name, content }) => [name, content])),
  };
  return manifestText([
    { about: 'The rule files of deploy/rules/accelerators, to mount at <label-dir>/accelerators.', object },
  ]);
}
