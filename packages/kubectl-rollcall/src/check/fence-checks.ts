import { fromFile } from '@rollcall/common/config/values.ts';
import { KUBERNETES_DOMAINS, reservedDomainOf } from '@rollcall/common/reserved-domains.ts';
import {
  DEVICE_IDENTITY_PREFIX,
  DEVICE_TREE_PREFIX,
  FACT_PREFIX,
  KNOWN_TAINT_PREFIXES,
  NFD_PCI_PREFIX,
  NFD_USB_PREFIX,
} from '@rollcall/common/well-known.ts';
import type { Finding } from '../findings.ts';
import { listed } from '../text/count.ts';
import { type Check, result } from './check.ts';
import { orWhenMissing } from './evidence.ts';

type Settings = Readonly<Record<string, unknown>>;

/** A variable of the fence, which is a text of CEL. */
type Variable = (name: string) => string;

/**
 * Whether the coordinator and the fence allow the same. What the coordinator alone allows is refused by the API server;
 * what the fence alone allows is open to a client with a stolen token.
 */
export const fenceAgrees: Check = ({ policies, config }) => {
  const settings = orWhenMissing<Settings>(config, {});
  const fence = orWhenMissing(policies, []).find(({ metadata }) => metadata.name === 'rollcall-fence');
  if (!fence) return { well: 'there is no fence that could contradict the configuration' };
  const variable = (name: string) => fence.spec?.variables?.find((each) => each.name === name)?.expression ?? '';
  const findings = [
    ...PREFIXES.flatMap((each) => prefixes(each, settings, variable)),
    ...SWITCHES.flatMap((each) => switches(each, settings, variable)),
    ...conditions(settings, variable),
    ...poolLabels(settings, variable),
    ...domains(settings, variable),
    ...removedLabels(settings, variable),
    ...gitpod(settings, variable),
  ];
  return result(findings, 'the fence allows what the coordinator is configured for, and no more');
};

type Prefixes = { whose: string; setting: string; name: string; onlyWith?: string };

const PREFIXES: readonly Prefixes[] = [
  { whose: 'NodeServices', setting: 'servicesAllowedPrefixes', name: 'servicePrefixes' },
  { whose: 'pools', setting: 'poolsAllowedPrefixes', name: 'poolPrefixes' },
  // Without a directory there are no rules.
  { whose: 'rules', setting: 'rulesAllowedPrefixes', name: 'ownPrefixes', onlyWith: 'labelDir' },
];

/** Prefixes in the fence's list of prefixes for rules that no rule may use. */
const OWN_PREFIXES = [NFD_USB_PREFIX, NFD_PCI_PREFIX, DEVICE_TREE_PREFIX, DEVICE_IDENTITY_PREFIX, FACT_PREFIX];

function prefixes({ whose, setting, name, onlyWith }: Prefixes, settings: Settings, variable: Variable): Finding[] {
  if (onlyWith !== undefined && settings[onlyWith] === undefined) return [];
  const chosen = strings(settings[setting]);
  // No prefix is any, and every key begins with the empty string.
  const wanted = chosen.length > 0 ? chosen : [''];
  const admitted = literals(variable(name)).filter((prefix) => !OWN_PREFIXES.includes(prefix));
  const refused = wanted.filter((prefix) => !admitted.some((each) => prefix.startsWith(each)));
  const unused = admitted.filter((prefix) => !wanted.some((each) => prefix.startsWith(each)));
  const coordinator = `allows ${whose} ${keys(wanted)} (${setting})`;
  const fence = `allows ${keys(admitted)} (${name})`;
  if (refused.length > 0) return [tooNarrow(name, coordinator, fence, keys(refused, 'all others'))];
  return unused.length > 0 ? [tooWide(name, coordinator, fence)] : [];
}

function keys(withPrefixes: readonly string[], all = 'all keys'): string {
  if (withPrefixes.includes('')) return all;
  return withPrefixes.length === 0 ? 'none' : `keys that begin with ${listed(withPrefixes)}`;
}

type Switch = { what: string; setting: string; byDefault: boolean; name: string };

const SWITCHES: readonly Switch[] = [
  { what: 'taints with the effect NoExecute', setting: 'allowNoExecute', byDefault: false, name: 'mayEvict' },
  { what: 'conditions', setting: 'servicesConditions', byDefault: true, name: 'mayChangeConditions' },
];

function switches({ what, setting, byDefault, name }: Switch, settings: Settings, variable: Variable): Finding[] {
  const isWanted = (settings[setting] ?? byDefault) === true;
  if (isWanted === (variable(name) === 'true')) return [];
  if (isWanted) return [tooNarrow(name, `allows ${what} (${setting})`, `does not (${name})`, 'them')];
  return [tooWide(name, `does not (${setting})`, `allows ${what} (${name})`)];
}

/** Those for which Karpenter replaces nodes are allowed one by one, and need a prefix besides. */
function conditions(settings: Settings, variable: Variable): Finding[] {
  if (settings['servicesConditions'] === false) return [];
  const admitted = literals(variable('servicePrefixes')).filter((prefix) => !KNOWN_TAINT_PREFIXES.includes(prefix));
  const refused = strings(settings['allowCondition']).filter((type) => !admitted.some((each) => type.startsWith(each)));
  if (refused.length === 0) return [];
  const coordinator = `allows the conditions ${listed(refused)} (allowCondition)`;
  const fence = `allows conditions that begin with ${listed(admitted) || 'nothing'} (servicePrefixes)`;
  const cure = `add ${listed(refused)} to services.allowedPrefixes and run helm upgrade`;
  return [{ ...tooNarrow('servicePrefixes', coordinator, fence, 'them'), cure }];
}

function poolLabels(settings: Settings, variable: Variable): Finding[] {
  const [name, wanted] = ['poolLabels', strings(settings['poolLabels'])];
  if (wanted.length === 0) return [];
  const admitted = literals(variable(name));
  const side = (labels: readonly string[]) => `knows nodes of pools by ${listed(labels) || 'nothing'} (${name})`;
  if (wanted.some((label) => !admitted.includes(label)))
    return [tooNarrow(name, side(wanted), side(admitted), 'labels of pools on other nodes')];
  return admitted.some((label) => !wanted.includes(label)) ? [tooWide(name, side(wanted), side(admitted))] : [];
}

function domains(settings: Settings, variable: Variable): Finding[] {
  const [setting, name] = ['forbiddenLabelDomains', 'reservedDomains'];
  // The coordinator allows no labels in the domains of Kubernetes either, whatever the setting.
  const forbidden = [...KUBERNETES_DOMAINS, ...strings(settings[setting]).map((domain) => domain.toLowerCase())];
  const reserved = literals(variable(name));
  const outside = (some: readonly string[], others: readonly string[]) =>
    some.filter((domain) => reservedDomainOf(`${domain}/`, others) === undefined);
  const [refused, open] = [outside(reserved, forbidden), outside(forbidden, reserved)];
  const allows = (some: readonly string[]) => `allows labels of pools in ${listed(some)}`;
  return [
    ...(refused.length > 0 ? [tooNarrow(name, `${allows(refused)} (${setting})`, `does not (${name})`, 'them')] : []),
    ...(open.length > 0 ? [tooWide(name, `does not (${setting})`, `${allows(open)} (${name})`)] : []),
  ];
}

function removedLabels(settings: Settings, variable: Variable): Finding[] {
  const [setting, name] = ['poolsRemovedLabels', 'removedLabels'];
  const [wanted, admitted] = [strings(settings[setting]), literals(variable(name)).filter((key) => key !== '')];
  const side = (labels: readonly string[], which: string) => `removes ${listed(labels) || 'no such labels'} (${which})`;
  if (wanted.some((label) => !admitted.includes(label)))
    return [
      tooNarrow(name, side(wanted, setting), `allows it for ${listed(admitted) || 'none'} (${name})`, 'the others'),
    ];
  const isUnused = admitted.some((label) => !wanted.includes(label));
  return isUnused ? [tooWide(name, side(wanted, setting), `lets it remove ${listed(admitted)} (${name})`)] : [];
}

function gitpod({ gitpod: isOn, namespace = 'default' }: Settings, variable: Variable): Finding[] {
  const name = 'ownLabels';
  const labels = literals(variable(name));
  if (isOn === false || labels.some((label) => label.endsWith(`_ready_ns_${namespace}`))) return [];
  const coordinator = `sets the readiness labels of the namespace ${namespace} (namespace)`;
  return [tooNarrow(name, coordinator, `allows ${listed(labels) || 'none'} (${name})`, 'them')];
}

/** Both sides as what they do, with the name of the setting or the variable. */
function tooNarrow(name: string, coordinator: string, fence: string, refused: string): Finding {
  const text = `The coordinator ${coordinator}, but the fence ${fence}: the API server refuses ${refused}`;
  return { severity: 'fail', text, cure: cureOf(name) };
}

function tooWide(name: string, coordinator: string, fence: string): Finding {
  const text = `The fence ${fence}, but the coordinator ${coordinator}: a stolen token can change more than it does`;
  return { severity: 'warn', text, cure: cureOf(name) };
}

function cureOf(name: string): string {
  return `render both from the same values: helm upgrade; or edit ${name} in the ValidatingAdmissionPolicy rollcall-fence`;
}

/** The strings in a list of CEL. */
function literals(expression: string): string[] {
  return [...expression.matchAll(/'([^']*)'/g)].map(([, text = '']) => text);
}

/** A list as the coordinator reads it from its file. */
function strings(value: unknown): string[] {
  const converted = fromFile({ type: 'list', help: '' }, value ?? []);
  return 'value' in converted ? (converted.value as string[]) : [];
}
