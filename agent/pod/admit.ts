import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import type { Amounts } from '../../api/kinds/pod/resources.ts';
import { isStatic, isStaticUid } from '../../api/kinds/pod/static-pods.ts';
import { objectKey } from '../../api/meta/key.ts';
import type { NodeView } from '../node/node-view.ts';
import { decideAdmission, misplacement } from './admission.ts';
import { decideIsolation, type NodeIsolation } from './isolation-admission.ts';
import type { PodEvents } from './pod-events.ts';
import { isLeaving } from './pod-lifecycle.ts';
import { advance, type PodRecord } from './pod-record.ts';
import { heldBy, holdersBeside } from './room.ts';

export interface AdmitOptions {
  readonly allocatable: Readonly<Amounts>;
  readonly isolation: NodeIsolation;
  readonly node: Pick<NodeView, 'last' | 'read'>;
  readonly events: PodEvents;
}

/**
 * Admits a pod to this node or refuses it, once; what was decided is in its record. False while it does not fit but
 * will when those have gone that are leaving, and while the static pod that its file described before has not ended.
 * Pods whose containers are there already were admitted before. Throws ApiError when the node cannot be read.
 */
export type Admit = (record: PodRecord, all: Iterable<PodRecord>) => Promise<boolean>;

export function createAdmit({ allocatable, isolation, node, events }: AdmitOptions): Admit {
  return async (record, all) => {
    if (isDecided(record)) return true;
    if (record.containers.size > 0) {
      advance(record, { type: 'admit' });
      return true;
    }
    if (hasPredecessor(record, all)) return false;
    // What is known of the node may be seconds old: a pod is not refused for a label that was added since.
    const known = node.last();
    const stands = known !== undefined ? misplacement(record.pod ?? {}, known) === undefined : isStatic(record.pod ?? {});
    const current = stands ? known : await node.read();
    const { pod } = record;
    if (isDecided(record) || pod === undefined) return true;
    // From here to the end without waiting: two pods must not be given the same room.
    const others = holdersBeside(record, all);
    const beside = (those: readonly PodRecord[]) =>
      decideAdmission(pod, { admitted: those.map(heldBy), allocatable, node: current });
    const never = decideIsolation(pod, isolation);
    const refusal = never ?? beside(others);
    const staying = others.filter(({ life }) => !isLeaving(life));
    if (refusal !== undefined && never === undefined && beside(staying) === undefined) return false;
    if (refusal === undefined) {
      advance(record, { type: 'admit' });
      return true;
    }
    const why = { reason: refusal.reason, message: `Pod was rejected: ${refusal.message}` };
    advance(record, { type: 'refuse', why });
    events(pod, 'Warning', refusal.reason, refusal.message);
    return true;
  };
}

/** A static pod whose file was changed is another pod; it begins when the one before has ended. */
function hasPredecessor(record: PodRecord, all: Iterable<PodRecord>): boolean {
  if (!isStaticUid(record.uid)) return false;
  const name = nameOf(record);
  return [...all].some((other) => other !== record && isStaticUid(other.uid) && nameOf(other) === name);
}

/** Of one that no file describes any more, its containers know. */
function nameOf({ pod, containers }: PodRecord): string | undefined {
  if (pod !== undefined) return objectKey(pod);
  const [first] = containers.values();
  return first && objectKey({ metadata: { namespace: first.podNamespace, name: first.podName } });
}

function isDecided({ life, pod }: PodRecord): boolean {
  return life.decision.type !== 'new' || isLeaving(life) || pod === undefined || isFinished(pod);
}
