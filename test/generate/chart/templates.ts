import {
  KNOWN_TAINT_PREFIXES,
  notReadyTaint,
  REGISTRY_FACADE,
  readyLabel,
  UNINSTALL_NAME,
  WS_DAEMON,
} from '@rollcall/common/well-known.ts';
import { COORDINATOR_OPTIONS } from '@rollcall/coordinator/model/options.ts';
import { fencePolicies } from '../manifests/fence-policy.ts';
import { CRDS, pluralOf } from '../manifests/files.ts';
import { manifestText } from '../manifests/manifest.ts';
import { poolLabelsPolicies } from '../manifests/pool-labels-policy.ts';
import { DEFAULT_SETTINGS, type PolicySettings } from '../manifests/settings.ts';
import { GATE_SELECTOR, startupTaintPolicy } from '../manifests/startup-taint-policy.ts';
import { watchRoles, watchTerms } from '../manifests/watch-rights.ts';
import { acceleratorRulesConfigMap } from '../rules/files.ts';
import { REAL_NODES } from './kubernetes.ts';
import { type Draft, monitoringDrafts } from './monitoring.ts';
import { schedulerTemplate } from './scheduler.ts';

/**
 * What stands in a manifest where the chart puts something: a word that no manifest has, and the template for it. The
 * name of a namespace may be a number to YAML, so as a value it is quoted.
 */
const PLACEHOLDERS = {
  ofNamespace: ['namespace: xx-namespace-xx', 'namespace: {{ .Release.Namespace | quote }}'],
  namespace: ['xx-namespace-xx', '{{ .Release.Namespace }}'],
  poolNamespace: ['xx-pool-namespace-xx', '{{ include "rollcall.poolNamespace" . | quote }}'],
  label: ["'xx-label-xx'", '{{ include "rollcall.cel.labels" . }}'],
  taint: ["'xx-taint-xx'", '{{ include "rollcall.cel.taints" . }}'],
  poolLabels: ["'xx-pool-labels-xx'", '{{ include "rollcall.cel.poolLabels" . }}'],
  poolPrefixes: ["'xx-pool-prefixes-xx'", '{{ include "rollcall.cel.poolPrefixes" . }}'],
  reservedDomains: ["'xx-reserved-domains-xx'", '{{ include "rollcall.cel.reservedDomains" . }}'],
  removedLabels: ["'xx-removed-labels-xx'", '{{ include "rollcall.cel.removedLabels" . }}'],
  labelPrefixes: ["'xx-label-prefixes-xx'", '{{ include "rollcall.cel.labelPrefixes" . }}'],
  servicePrefixes: ["'xx-service-prefixes-xx'", '{{ include "rollcall.cel.servicePrefixes" . }}'],
  mayEvict: ['xx-may-evict-xx', '{{ eq (toString .Values.coordinator.config.allowNoExecute) "true" | quote }}'],
  conditions: ['xx-conditions-xx', '{{ ne (toString .Values.coordinator.config.servicesConditions) "false" | quote }}'],
  objectSelector: ['xx-object-selector-xx', '{{ include "rollcall.gateSelector" . }}'],
  interval: ['xx-interval-xx', '{{ .Values.monitoring.podMonitor.interval }}'],
  relabelings: [
    'xx-relabelings-xx',
    `        {{- with .Values.monitoring.podMonitor.relabelings }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.monitoring.podMonitor.metricRelabelings }}
      metricRelabelings:
        {{- toYaml . | nindent 8 }}
      {{- end }}`,
  ],
  runbooks: ['xx-runbooks-xx', '{{ trimSuffix "/" .Values.monitoring.prometheusRule.runbookUrl }}'],
} as const;

/** Settings whose every value is a placeholder. */
const SETTINGS: PolicySettings = {
  ...DEFAULT_SETTINGS,
  namespace: word('namespace'),
  poolNamespace: word('poolNamespace'),
  services: [{ label: word('label'), taint: word('taint') }],
  poolLabels: [word('poolLabels')],
  poolPrefixes: [word('poolPrefixes')],
  reservedDomains: [word('reservedDomains')],
  removedLabels: [word('removedLabels')],
  labelPrefixes: [word('labelPrefixes')],
  servicePrefixes: [word('servicePrefixes')],
  allowNoExecute: word('mayEvict'),
  conditions: word('conditions'),
};

const OF_COORDINATOR = 'list . "coordinator"';

/** Templates of the chart that are made from what also makes the plain manifests, by name. */
export function chartTemplates(): Record<string, string> {
  const drafts: Record<string, Draft> = {
    'policies/pool-labels.yaml': {
      manifest: poolLabelsPolicies(SETTINGS),
      condition: '.Values.policies.poolLabels.enabled',
      labels: OF_COORDINATOR,
    },
    'policies/startup-taint.yaml': {
      manifest: startupTaintPolicy(word('objectSelector')),
      condition: '.Values.policies.startupTaint.enabled',
      labels: OF_COORDINATOR,
    },
    'policies/fence.yaml': {
      manifest: fencePolicies(SETTINGS),
      condition: '.Values.policies.fence.enabled',
      labels: OF_COORDINATOR,
    },
    'coordinator/accelerator-rules.yaml': {
      manifest: acceleratorRulesConfigMap(SETTINGS.namespace),
      condition: '.Values.rules.accelerators',
      labels: OF_COORDINATOR,
    },
    ...crdDrafts(),
    ...monitoringDrafts(SETTINGS.namespace, word('interval'), word('relabelings'), {
      runbooks: word('runbooks'),
      threshold: ({ name }) => `xx-threshold-${name}-xx`,
    }),
  };
  const rendered = Object.entries(drafts).map(([name, draft]) => [name, template(draft)]);
  return {
    '_source.tpl': sourceHelpers(),
    'scheduler.yaml': schedulerTemplate(),
    'uninstall/_fence.tpl': uninstallFence(),
    ...Object.fromEntries(rendered),
  };
}

/** The fence of the Job that uninstalls: two named templates, for the hook that brings it along. */
function uninstallFence(): string {
  const [policy, binding] = fencePolicies(SETTINGS, UNINSTALL_NAME)
    .split(/^---\n/m)
    .slice(1)
    .map((text) =>
      body({ manifest: text.replace(/^#.*\n/gm, ''), labels: 'list . "uninstall"', annotations: HOOK_ANNOTATIONS }),
    );
  return [
    '{{- /* Generated by `npm run generate` from test/generate. */}}\n',
    `{{- define "rollcall.uninstall.fence" -}}\n${policy}{{- end }}\n`,
    `{{- define "rollcall.uninstall.fenceBinding" -}}\n${binding}{{- end }}\n`,
  ].join('');
}

const HOOK_ANNOTATIONS = 'annotations:\n    {{- include "rollcall.uninstall.annotations" (list . 0) | nindent 4 }}';

/** The CRDs, which Helm upgrades with the release, and leaves when it goes. */
function crdDrafts(): Record<string, Draft> {
  const entries = CRDS.map((crd): [string, Draft] => [
    `crds/${pluralOf(crd)}.yaml`,
    {
      manifest: manifestText([crd]),
      condition: '.Values.crds.install',
      labels: `${OF_COORDINATOR} dict (ternary (dict "helm.sh/resource-policy" "keep") dict .Values.crds.keep)`,
    },
  ]);
  return Object.fromEntries(entries);
}

function word(name: keyof typeof PLACEHOLDERS): string {
  return PLACEHOLDERS[name][0].replaceAll("'", '');
}

/** The template, with the labels of the chart on every object. Braces of the manifest's own are text. */
function template({ condition, ...draft }: Draft): string {
  return `{{- /* Generated by \`npm run generate\` from test/generate. */}}\n{{- if ${condition} }}\n${body(draft)}{{- end }}\n`;
}

function body({ manifest, labels, annotations }: Omit<Draft, 'condition'>): string {
  let text = manifest.replace(/^#.*\n/, '').replaceAll('{{', '{{ "{{" }}');
  text = text.replace(/^metadata:\n {2}name: .*\n/gm, (head) =>
    annotations
      ? `${head}  labels:\n    {{- include "rollcall.labels" (${labels}) | nindent 4 }}\n  ${annotations}\n`
      : `${head}  {{- include "rollcall.metadata" (${labels}) | nindent 2 }}\n`,
  );
  for (const [placeholder, expression] of Object.values(PLACEHOLDERS)) text = text.replaceAll(placeholder, expression);
  text = text.replace(
    /^ {8}- alert: (\w+)\n( {10}.*\n)*/gm,
    (rule, name: string) =>
      `        {{- if not (has "${name}" .Values.monitoring.prometheusRule.disabled) }}\n${rule}        {{- end }}\n`,
  );
  text = text.replace(/xx-threshold-(\w+)-xx/g, '{{ .Values.monitoring.prometheusRule.thresholds.$1 }}');
  if (text.includes('xx-')) throw new Error('A placeholder stands where the chart does not look for it');
  return text;
}

/** Constants of the programs, for the templates that are written by hand. */
function sourceHelpers(): string {
  const { annotations: _, services: __, namespace: ___, ...settings } = DEFAULT_SETTINGS;
  const rulePrefix = 'accelerators/';
  const constants: Record<string, unknown> = {
    gitpodNamespace: COORDINATOR_OPTIONS.namespace.default,
    poolLabels: settings.poolLabels,
    reservedDomains: settings.reservedDomains,
    taintPrefixes: KNOWN_TAINT_PREFIXES,
    labelPrefixes: settings.labelPrefixes.filter((prefix) => prefix !== rulePrefix),
    services: [WS_DAEMON, REGISTRY_FACADE],
    readyLabel: readyLabel('%s', '%s'),
    notReadyTaint: notReadyTaint('%s'),
    gateSelector: GATE_SELECTOR,
    watchRoles: watchRoles(),
    watchTerms: watchTerms(),
    nodes: REAL_NODES,
  };
  const defined = Object.entries(constants).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `{{- define "rollcall.source.${name}" -}}${text}{{- end }}\n`;
  });
  return `{{- /* Generated by \`npm run generate\` from test/generate. */}}\n${defined.join('')}`;
}
