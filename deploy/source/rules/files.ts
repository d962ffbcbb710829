import { ACCELERATORS } from '@rollcall/common/accelerators.ts';
import type { GeneratedFile } from '../manifests/files.ts';
import { manifestText } from '../manifests/manifest.ts';
import { DEFAULT_SETTINGS } from '../manifests/settings.ts';
import { acceleratorRule } from './accelerator-rule.ts';

/** A rule file for each known accelerator, and a ConfigMap that holds them all. */
export function ruleFiles(): GeneratedFile[] {
  return [
    ...rules().map(({ name, content }) => ({ file: `deploy/rules/accelerators/${name}`, content })),
    { file: 'deploy/rules/configmap.yaml', content: acceleratorRulesConfigMap(DEFAULT_SETTINGS.namespace) },
  ];
}

function rules(): { name: string; content: string }[] {
  return ACCELERATORS.map((accelerator) => ({ name: accelerator.name, content: acceleratorRule(accelerator) }));
}

/** The manifest of a ConfigMap in `namespace` with every rule file. */
export function acceleratorRulesConfigMap(namespace: string): string {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'rollcall-accelerator-rules', namespace },
    data: Object.fromEntries(rules().map(({ name, content }) => [name, content])),
  };
  return manifestText([
    { about: 'The rule files of deploy/rules/accelerators, to mount at <label-dir>/accelerators.', object },
  ]);
}
