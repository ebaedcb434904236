import { badRequest, conflict, type ErrorSubject, invalid, notFound } from '../../api/errors/index.ts';
import { required } from '../../api/errors/violations.ts';
import type { Binding, Node, Pod } from '../../api/generated/types.ts';
import { isGated } from '../../api/kinds/pod/gates.ts';
import { isFinished } from '../../api/kinds/pod/lifecycle.ts';
import { type Amounts, resourceAmounts } from '../../api/kinds/pod/resources.ts';
import { setCondition } from '../../api/meta/conditions.ts';
import { secondsTimestamp } from '../../api/meta/time.ts';
import { resourceVersionOf } from '../watch/stamp-resource-version.ts';
import { admitSubresource, judgeOf } from './admit.ts';
import type { KindStore, ObjectName } from './kind-store.ts';
import { amountsOf, type NodeSums, type Reservation } from './node-sums.ts';
import type { StoreResult } from './store-values.ts';
import type { WriteContext } from './write-context.ts';

const BINDING = { apiVersion: 'v1', kind: 'Binding', message: 'berth.core.v1.Binding' };

export interface BindDeps {
  readonly pods: KindStore;
  readonly nodes: KindStore;
  readonly sums: NodeSums;
}

/**
 * Assigns a pod to a node, once: sets spec.nodeName and the condition PodScheduled, and ends its nomination, in one
 * write. Throws ABORTED when the pod is bound already or has finished, is another one than the uid says, or would ask
 * for more than the node has left; sums include bindings that are under way, so that two schedulers cannot over-commit
 * a node together.
 */
export async function bindPod(deps: BindDeps, binding: Binding, context: WriteContext): Promise<StoreResult> {
  const { at } = checkBinding(deps, binding);
  const admitted = judgeOf(deps.pods, context)
    ? await admitSubresource(deps.pods, at, { subresource: 'binding', form: BINDING, object: binding }, context)
    : binding;
  const { nodeName } = checkBinding(deps, admitted);
  return deps.sums.turns.take(deps.pods.key(at), () => bindInTurn(deps, { at, nodeName }, admitted, context));
}

async function bindInTurn(
  deps: BindDeps,
  { at, nodeName }: { readonly at: ObjectName; readonly nodeName: string },
  binding: Binding,
  context: WriteContext,
): Promise<StoreResult> {
  const { pods, sums } = deps;
  const key = pods.key(at);
  let reservation: Reservation | undefined;
  try {
    const compute = async (previous: Pod): Promise<Pod> => {
      checkPod(pods, at, binding, previous);
      const node = await readNode(deps, nodeName);
      // Check and reservation must be in one turn of the event loop, so that concurrent bindings see each other.
      checkRoom(deps, at, node, previous);
      reservation?.cancel();
      if (!context.dryRun) reservation = sums.reserve(key, nodeName, previous);
      return bound(previous, nodeName, pods.origin().now);
    };
    const bytes = await pods.change(at, { context, verb: 'bind', compute, isAdmitted: true });
    reservation?.settle(Number(resourceVersionOf(bytes)));
    return { bytes, warnings: [] };
  } catch (error) {
    reservation?.cancel();
    throw error;
  }
}

function checkBinding({ pods }: BindDeps, binding: Binding): { at: ObjectName; nodeName: string } {
  const { namespace = '', name = '' } = binding.metadata ?? {};
  const { kind, name: nodeName = '' } = binding.target ?? {};
  const at = { namespace, name };
  const missing = [
    ...(name ? [] : [required('metadata.name')]),
    ...(namespace ? [] : [required('metadata.namespace')]),
    ...(nodeName ? [] : [required('target.name')]),
  ];
  if (missing.length > 0) throw invalid({ ...pods.subject(at), kind: 'Binding' }, missing);
  if (kind && kind !== 'Node') throw badRequest(`cannot bind pod "${name}": the target is a ${kind}, not a Node`);
  return { at, nodeName };
}

function checkPod(pods: KindStore, at: ObjectName, binding: Binding, pod: Pod): void {
  const uid = binding.metadata?.uid;
  if (uid && uid !== pod.metadata?.uid)
    throw conflict(pods.subject(at), `the uid is ${pod.metadata?.uid}, not ${uid}: the pod was made again`);
  if (pod.metadata?.deletionTimestamp) throw conflict(pods.subject(at), 'it is being deleted and cannot be bound');
  if (isFinished(pod)) throw conflict(pods.subject(at), 'it has finished and cannot be bound');
  if (pod.spec?.nodeName) throw conflict(pods.subject(at), `it is already assigned to node "${pod.spec.nodeName}"`);
  if (isGated(pod)) throw conflict(pods.subject(at), 'it has scheduling gates and cannot be bound yet');
}

async function readNode({ nodes }: BindDeps, name: string): Promise<Node> {
  const entry = await nodes.read({ namespace: '', name });
  if (!entry) throw notFound({ kind: 'Node', name });
  return nodes.cache.decoder.decode(entry);
}

function checkRoom({ pods, sums }: BindDeps, at: ObjectName, node: Node, pod: Pod): void {
  const nodeName = node.metadata?.name ?? '';
  const allocatable = readAllocatable(pods.subject(at), node);
  const taken = sums.without(nodeName, pods.key(at));
  const wanted = amountsOf(pod);
  for (const name of Object.keys(wanted)) {
    const amount = wanted[name]!;
    // A node that has not reported its pod limit yet has none.
    if (amount <= 0 || (name === 'pods' && allocatable.pods === undefined)) continue;
    const left = (allocatable[name] ?? 0) - (taken[name] ?? 0);
    if (amount <= left) continue;
    throw conflict(pods.subject(at), `node "${nodeName}" has not enough ${name}: ${amount} wanted, ${Math.max(left, 0)} left`);
  }
}

/** What the status says came from outside, and may be older than the rules that it is judged by now. */
function readAllocatable(subject: ErrorSubject, { metadata, status }: Node): Amounts {
  try {
    return resourceAmounts(status?.allocatable ?? status?.capacity);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw conflict(subject, `what node "${metadata?.name}" has cannot be read: ${error.message}`);
  }
}

function bound(previous: Pod, nodeName: string, now: Date): Pod {
  const time = secondsTimestamp(now);
  const { generation: observedGeneration } = previous.metadata ?? {};
  const scheduled = { type: 'PodScheduled', status: 'True', ...(observedGeneration && { observedGeneration }) };
  const conditions = setCondition(previous.status?.conditions, scheduled, time);
  // Where it was to be put is of no more interest.
  const { nominatedNodeName: _, ...status } = previous.status ?? {};
  return { ...previous, spec: { ...previous.spec, nodeName }, status: { ...status, conditions } };
}
