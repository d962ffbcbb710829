import type { HostFiles } from '../host-files.ts';
import { isCounted, parseCompatible } from './compatible.ts';

/** Boards have some thousand nodes, a handful of levels deep. */
const NODES_MAX = 8192;
const DEPTH_MAX = 16;

/**
 * A node that is an accelerator. `path` begins at the root of the tree; `compatible` is what it is known by, `name` the
 * name of the node without its address.
 */
export type AcceleratorNode = { path: string; compatible: string; name: string };

export type TreeWalk = {
  /** Every string that the board, its CPUs and its GPUs are compatible with, as often as it is there. */
  counted: readonly string[];
  /** Of those that are switched on. */
  accelerators: readonly AcceleratorNode[];
  /** At least so many nodes were not looked at. */
  leftOut: number;
  /** Changes with what is known of these nodes. */
  signature: string;
  /** The same, of what is there now. */
  signatureNow(): string;
};

/** Visits all nodes of a tree. `countedNodes` are names of nodes that count besides the board, CPUs and GPUs. */
export function walkTree(
  files: HostFiles,
  root: string,
  isAccelerator: (node: AcceleratorNode) => boolean,
  countedNodes: readonly string[] = [],
): TreeWalk {
  const counted: string[] = [];
  const accelerators: AcceleratorNode[] = [];
  const looked: string[] = [];
  const take = (node: string, name?: string) => {
    const strings = parseCompatible(files.text(`${node}/compatible`) ?? '');
    const isOfBoard = name === undefined || isCounted(name, countedNodes);
    if (isOfBoard) counted.push(...strings);
    const path = node.slice(root.length);
    const known = strings
      .map((compatible) => ({ path, compatible, name: name?.split('@', 1)[0] ?? '' }))
      .find((each) => each.name !== '' && isAccelerator(each));
    if (known && isSwitchedOn(files, root, path)) accelerators.push(known);
    if (isOfBoard || known) looked.push(node);
  };
  take(root);
  let level = [root];
  let left = NODES_MAX;
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0 && left > 0; depth += 1) {
    const next: string[] = [];
    for (const parent of level) {
      if (left <= 0) break;
      const names = files.directories(parent);
      left -= names.length;
      for (const name of names) take(`${parent}/${name}`, name);
      next.push(...names.map((name) => `${parent}/${name}`));
    }
    level = next;
  }
  const signatureNow = () => signatureOf(files, root, looked);
  const isCut = left <= 0 || level.length > 0;
  return { counted, accelerators, leftOut: isCut ? 1 : 0, signature: signatureNow(), signatureNow };
}

/** Devicetree Specification, 2.3.4: a node without a status is on; what is below one that is not, is not either. */
function isSwitchedOn(files: HostFiles, root: string, path: string): boolean {
  const parts = path.split('/').slice(1);
  return parts.every((_, index) => {
    const status = files.text(`${root}/${parts.slice(0, index + 1).join('/')}/status`);
    return status === undefined || /^(okay|ok)\0?$/.test(status);
  });
}

function signatureOf(files: HostFiles, root: string, nodes: readonly string[]): string {
  const properties = nodes.map((node) => [files.text(`${node}/compatible`), files.text(`${node}/status`)]);
  return JSON.stringify([files.list(root), nodes, properties]);
}
