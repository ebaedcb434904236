import { badRequest } from '../../api/errors/index.ts';
import { list, type Tree, text, tree } from '../describe/json.ts';
import { revisionOf } from '../workload/owned-pods.ts';

/** Where a rollout stands, in kubectl's sentences. */
export interface RolloutStatus {
  readonly text: string;
  readonly done: boolean;
}

/** A rollout that does not come further: its pods say why. */
export class RolloutStuck extends Error {}

/**
 * Where the rollout of a Deployment, DaemonSet or StatefulSet stands. Pure. Throws for one that cannot succeed any
 * more, and for another revision than the one that is asked for (0: any).
 */
export function rolloutStatus(kind: string, object: Tree, revision = 0): RolloutStatus {
  if (kind === 'Deployment') return deploymentStatus(object, revision);
  const type = text(object, 'spec', 'updateStrategy', 'type');
  if (type !== 'RollingUpdate') throw badRequest('rollout status is only available for RollingUpdate strategy type');
  return kind === 'DaemonSet' ? daemonSetStatus(object) : statefulSetStatus(object);
}

const waiting = (sentence: string): RolloutStatus => ({ text: sentence, done: false });
const number = (object: Tree, ...path: readonly string[]): number => Number(text(object, ...path) || '0');

/** Whether the controller has seen the object as it is. */
function isSeen(object: Tree): boolean {
  return number(object, 'metadata', 'generation') <= number(object, 'status', 'observedGeneration');
}

function deploymentStatus(object: Tree, revision: number): RolloutStatus {
  const name = JSON.stringify(text(object, 'metadata', 'name'));
  const present = revisionOf(object);
  if (revision > 0 && revision !== present)
    throw badRequest(`desired revision (${revision}) is different from the running revision (${present})`);
  if (!isSeen(object)) return waiting('Waiting for deployment spec update to be observed...');
  const progressing = list(object, 'status', 'conditions').find((each) => each.type === 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded')
    throw new RolloutStuck(`deployment ${name} exceeded its progress deadline`);
  const { replicas, updated, available } = {
    replicas: number(object, 'status', 'replicas'),
    updated: number(object, 'status', 'updatedReplicas'),
    available: number(object, 'status', 'availableReplicas'),
  };
  const wanted = number(object, 'spec', 'replicas');
  const unfinished = (what: string): RolloutStatus => waiting(`Waiting for deployment ${name} rollout to finish: ${what}...`);
  if (updated < wanted) return unfinished(`${updated} out of ${wanted} new replicas have been updated`);
  if (replicas > updated) return unfinished(`${replicas - updated} old replicas are pending termination`);
  if (available < updated) return unfinished(`${available} of ${updated} updated replicas are available`);
  return { text: `deployment ${name} successfully rolled out`, done: true };
}

function daemonSetStatus(object: Tree): RolloutStatus {
  const name = JSON.stringify(text(object, 'metadata', 'name'));
  if (!isSeen(object)) return waiting('Waiting for daemon set spec update to be observed...');
  const wanted = number(object, 'status', 'desiredNumberScheduled');
  const updated = number(object, 'status', 'updatedNumberScheduled');
  const available = number(object, 'status', 'numberAvailable');
  const unfinished = (what: string): RolloutStatus => waiting(`Waiting for daemon set ${name} rollout to finish: ${what}...`);
  if (updated < wanted) return unfinished(`${updated} out of ${wanted} new pods have been updated`);
  if (available < wanted) return unfinished(`${available} of ${wanted} updated pods are available`);
  return { text: `daemon set ${name} successfully rolled out`, done: true };
}

function statefulSetStatus(object: Tree): RolloutStatus {
  if (number(object, 'status', 'observedGeneration') === 0 || !isSeen(object))
    return waiting('Waiting for statefulset spec update to be observed...');
  const wanted = number(object, 'spec', 'replicas');
  const ready = number(object, 'status', 'readyReplicas');
  const updated = number(object, 'status', 'updatedReplicas');
  if (ready < wanted) return waiting(`Waiting for ${wanted - ready} pods to be ready...`);
  if (tree(object, 'spec', 'updateStrategy').rollingUpdate !== undefined) {
    const partition = number(object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition');
    if (updated < wanted - partition)
      return waiting(
        `Waiting for partitioned roll out to finish: ${updated} out of ${wanted - partition} new pods have been updated...`,
      );
    return { text: `partitioned roll out complete: ${updated} new pods have been updated...`, done: true };
  }
  const [current, update] = [text(object, 'status', 'currentRevision'), text(object, 'status', 'updateRevision')];
  if (update !== current)
    return waiting(`waiting for statefulset rolling update to complete ${updated} pods at revision ${update}...`);
  const there = number(object, 'status', 'currentReplicas');
  return { text: `statefulset rolling update complete ${there} pods at revision ${current}...`, done: true };
}
