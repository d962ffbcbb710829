import { Boots } from './boots.ts';
import { CommonDevices } from './common-devices.ts';
import { NodeRecord } from './node-record.ts';

/** Of a node of which nothing is known yet. */
export function nodeRecord(name = 'n', uid = 'u'): NodeRecord {
  return new NodeRecord(name, uid, new Boots(30_000, new CommonDevices()));
}
