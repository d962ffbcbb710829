import { parseListenAddress } from '../http-server.ts';

/** What options of both programs take. Each check says what is wrong with a value, or nothing. */

/** Of the list that the files of both programs had, as `gone` of a program. */
export const SERVICES_GONE =
  'is no longer a list: create a NodeService (rollcall.dev/v1alpha1) for each entry, see "kubectl explain nodeservice.spec"';

export const PORT = { type: 'number', min: 1, max: 65_535 } as const;

/** RFC 1123, section 2.1, as Kubernetes takes it for the names of objects. */
export function isSubdomain(text: string): boolean {
  return text.length <= 253 && text.split('.').every((label) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(label));
}

export function checkSubdomain(text: string): string | undefined {
  return isSubdomain(text) ? undefined : 'must be a DNS name in lower case: letters, digits, "-" and ".", at most 253';
}

export function checkLabel(text: string): string | undefined {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)
    ? undefined
    : 'must be a DNS label: lower-case letters, digits and "-", at most 63';
}

export function checkListen(text: string): string | undefined {
  const parsed = parseListenAddress(text);
  return 'problem' in parsed ? parsed.problem : undefined;
}
