import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { equalValues } from '../../api/meta/equal.ts';
import { workloadAnnotations, workloadLabels } from '../../api/meta/workload-names.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';
import { list, type Tree, text, tree } from '../describe/json.ts';
import { listAllJson } from '../get/listing.ts';
import { podSelectorOf } from './pod-selector.ts';

/** The pods of a workload. */
export interface OwnedPods {
  /** All that it controls, itself or through its ReplicaSets. */
  readonly pods: readonly JsonObject[];
  /** Those of them that are of its present template; all where that cannot be told. */
  readonly current: readonly JsonObject[];
  /** The ReplicaSets of a Deployment, the oldest first. */
  readonly sets: readonly JsonObject[];
  /** The one of them with the present template. */
  readonly newSet: JsonObject | undefined;
}

/** Reads the pods of a workload; throws INVALID_ARGUMENT for a kind without pods of its own. */
export async function readOwnedPods(objects: ObjectsClient, kind: Kind, object: Tree): Promise<OwnedPods> {
  const namespace = text(object, 'metadata', 'namespace');
  const labelSelector = podSelectorOf(kind, object);
  const listOf = (name: 'Pod' | 'ReplicaSet') => listAllJson(objects, kindNamed(name), { namespace, labelSelector });
  if (kind.kind === 'Deployment') {
    const [pods, sets] = await Promise.all([listOf('Pod'), listOf('ReplicaSet')]);
    return podsOfDeployment(object, controlledBy([object], sets), pods);
  }
  const pods = controlledBy([object], await listOf('Pod'));
  const current = await currentPods(objects, kind, object, pods);
  return { pods, current, sets: [], newSet: undefined };
}

async function currentPods(
  objects: ObjectsClient,
  { kind }: Kind,
  object: Tree,
  pods: readonly JsonObject[],
): Promise<readonly JsonObject[]> {
  if (kind !== 'StatefulSet' && kind !== 'DaemonSet') return pods;
  const revisions = kind === 'DaemonSet' ? await readRevisions(objects, object) : [];
  const newest = revisions.at(-1);
  const hash = newest ? hashOf(newest) : text(object, 'status', 'updateRevision');
  return hash === '' ? pods : pods.filter((pod) => hashOf(pod) === hash);
}

const hashOf = (object: Tree): string => text(object, 'metadata', 'labels', workloadLabels.controllerRevisionHash);

/** The ControllerRevisions of a StatefulSet or DaemonSet, the oldest first. */
export async function readRevisions(objects: ObjectsClient, object: Tree): Promise<JsonObject[]> {
  const namespace = text(object, 'metadata', 'namespace');
  const all = await listAllJson(objects, kindNamed('ControllerRevision'), { namespace });
  return controlledBy([object], all).sort((a, b) => revisionNumber(a) - revisionNumber(b));
}

export function revisionNumber(revision: Tree): number {
  return Number(text(revision, 'revision') || '0');
}

/** The objects that one of the owners controls. */
export function controlledBy<T extends Tree>(owners: readonly Tree[], objects: readonly T[]): T[] {
  const uids = new Set(owners.map((owner) => text(owner, 'metadata', 'uid')));
  return objects.filter((object) => uids.has(controllerUid(object)));
}

function controllerUid(object: Tree): string {
  return text(
    list(object, 'metadata', 'ownerReferences').find((reference) => reference.controller === true),
    'uid',
  );
}

/** Pure: `sets` are those that the Deployment controls. */
export function podsOfDeployment(deployment: Tree, sets: readonly JsonObject[], pods: readonly JsonObject[]): OwnedPods {
  const sorted = sets.toSorted((a, b) => bornAt(a) - bornAt(b) || revisionOf(a) - revisionOf(b));
  const newSet = findNewSet(deployment, sorted);
  const owned = controlledBy(sorted, pods);
  return { pods: owned, current: newSet ? controlledBy([newSet], owned) : [], sets: sorted, newSet };
}

/**
 * The ReplicaSet of a Deployment's present template. An earlier version may have written a template with fewer
 * defaults: then the revision tells, once the controller has seen the template.
 */
function findNewSet(deployment: Tree, sets: readonly JsonObject[]): JsonObject | undefined {
  const template = tree(deployment, 'spec', 'template');
  const same = sets.find((set) => equalValues(withoutHash(tree(set, 'spec', 'template')), withoutHash(template)));
  if (same) return same;
  const generation = Number(text(deployment, 'metadata', 'generation') || '0');
  const isSeen = Number(text(deployment, 'status', 'observedGeneration') || '0') >= generation;
  const revision = revisionOf(deployment);
  return isSeen && revision > 0 ? sets.find((set) => revisionOf(set) === revision) : undefined;
}

/** A template without the label that a ReplicaSet's has besides. */
export function withoutHash(template: Tree): Tree {
  const { [workloadLabels.podTemplateHash]: _, ...labels } = tree(template, 'metadata', 'labels');
  const { labels: __, ...metadata } = tree(template, 'metadata');
  return { ...template, metadata: { ...metadata, ...(Object.keys(labels).length > 0 && { labels }) } };
}

/** The revision that a Deployment or ReplicaSet is of; 0: it says none. */
export function revisionOf(object: Tree): number {
  const said = text(object, 'metadata', 'annotations', workloadAnnotations.revision);
  return /^\d{1,15}$/.test(said) ? Number(said) : 0;
}

function bornAt(object: Tree): number {
  return Date.parse(text(object, 'metadata', 'creationTimestamp')) || 0;
}
