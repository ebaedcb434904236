import { isDeepStrictEqual } from 'node:util';
import type { DaemonSet, Node } from '../../api/generated/types.ts';
import { objectKey } from '../../api/meta/key.ts';
import type { Informer } from '../../client/index.ts';
import type { Source } from '../controller.ts';
import { eligibilityOf } from './eligibility.ts';

/**
 * Wakes the DaemonSets for which a node has become another: that it is there, or has gone, where it may have a pod of
 * theirs; otherwise only when its labels or taints change what they are to do there. A heartbeat wakes none.
 */
export function nodeChanges(nodes: Pick<Informer<Node>, 'addHandler' | 'waitForSync'>, sets: () => readonly DaemonSet[]): Source {
  return {
    waitForSync: (signal) => nodes.waitForSync(signal),
    connect(wake) {
      const wakeWhere = (isAffected: (set: DaemonSet) => boolean): void => {
        for (const set of sets()) if (isAffected(set)) wake(objectKey(set));
      };
      const mayHavePod = (node: Node) => (set: DaemonSet) => eligibilityOf(set)(node) !== 'leave';
      return nodes.addHandler({
        name: 'daemonset',
        onAdd: (node) => wakeWhere(mayHavePod(node)),
        onUpdate: (next, old) => {
          if (!isNewsToDaemons(next, old)) return;
          wakeWhere((set) => eligibilityOf(set)(next) !== eligibilityOf(set)(old));
        },
        onDelete: () => wakeWhere(() => true),
      });
    },
  };
}

/** Whether anything has changed that nodes are judged by. */
export function isNewsToDaemons(next: Node, old: Node): boolean {
  return !isDeepStrictEqual(factsOf(next), factsOf(old));
}

const factsOf = ({ metadata, spec }: Node) => [metadata?.labels, spec?.taints];
