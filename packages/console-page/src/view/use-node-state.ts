import { useCallback } from 'preact/hooks';
import { type State, stateOfNode, stateOfService } from '../model/node-state.ts';
import type { Store } from './store.ts';

/** The state of a node by its name; of one service on it where that is given. The same function as long as that is. */
export function useNodeState({ fleet }: Store, service?: string): (name: string) => State {
  return useCallback(
    (name) => {
      const node = fleet.node(name);
      if (!node) return 'none';
      return service === undefined ? stateOfNode(node) : (stateOfService(node, service) ?? 'none');
    },
    [fleet, service],
  );
}
