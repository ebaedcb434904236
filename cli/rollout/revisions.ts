import { badRequest } from '../../api/errors/index.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { workloadAnnotations } from '../../api/meta/workload-names.ts';
import type { JsonObject, ObjectsClient } from '../../client/index.ts';
import { type Tree, text, tree } from '../describe/json.ts';
import { listAllJson } from '../get/listing.ts';
import { controlledBy, readRevisions, revisionNumber, revisionOf, withoutHash } from '../workload/owned-pods.ts';
import { podSelectorOf } from '../workload/pod-selector.ts';

/** A template that a workload had, or has. */
export interface WorkloadRevision {
  readonly number: number;
  readonly changeCause: string;
  readonly template: Tree;
  /** What keeps it: a ReplicaSet or ControllerRevision. */
  readonly object: JsonObject;
}

/** The revisions that a Deployment, StatefulSet or DaemonSet keeps, the oldest first. */
export async function readWorkloadRevisions(objects: ObjectsClient, kind: Kind, object: Tree): Promise<WorkloadRevision[]> {
  if (kind.kind !== 'Deployment') return (await readRevisions(objects, object)).map(ofControllerRevision);
  const scope = { namespace: text(object, 'metadata', 'namespace'), labelSelector: podSelectorOf(kind, object) };
  const sets = controlledBy([object], await listAllJson(objects, kindNamed('ReplicaSet'), scope));
  return sets
    .map(ofReplicaSet)
    .filter(({ number }) => number > 0)
    .sort((a, b) => a.number - b.number);
}

const causeOf = (object: Tree): string => text(object, 'metadata', 'annotations', workloadAnnotations.changeCause);

function ofReplicaSet(set: JsonObject): WorkloadRevision {
  const template = tree(set, 'spec', 'template');
  return { number: revisionOf(set), changeCause: causeOf(set), template, object: set };
}

/** The data of a ControllerRevision is a strategic patch that replaces the template. */
function ofControllerRevision(revision: JsonObject): WorkloadRevision {
  const { $patch: _, ...template } = tree(revision, 'data', 'spec', 'template');
  return { number: revisionNumber(revision), changeCause: causeOf(revision), template, object: revision };
}

/** The revision of this number. Throws INVALID_ARGUMENT when there is none. */
export function revisionNumbered(revisions: readonly WorkloadRevision[], number: number): WorkloadRevision {
  const found = revisions.find((each) => each.number === number);
  if (found) return found;
  const known = revisions.map((each) => each.number).join(', ');
  throw badRequest(`unable to find specified revision ${number} in history; there ${known ? `are ${known}` : 'is none'}`);
}

/** The revision to go back to: of this number, or with 0 the one before the newest. Throws INVALID_ARGUMENT. */
export function revisionToUndo(revisions: readonly WorkloadRevision[], number: number, subject: string): WorkloadRevision {
  if (number > 0) return revisionNumbered(revisions, number);
  const previous = revisions.at(-2);
  if (!previous) throw badRequest(`no rollout history found for ${subject}: there is no revision to roll back to`);
  return previous;
}

/** Annotations of a Deployment that are its own: a revision's ReplicaSet does not tell them. */
const kept: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  workloadAnnotations.revision,
  workloadAnnotations.revisionHistory,
  workloadAnnotations.desiredReplicas,
  workloadAnnotations.maxReplicas,
  workloadAnnotations.rolledBackTo,
  'deprecated.deployment.rollback.to',
]);

/** The strategic patch that gives a workload the template of a revision, and a Deployment its annotations. */
export function undoPatch(
  { kind }: Pick<Kind, 'kind'>,
  object: Tree,
  { template, object: keeper }: WorkloadRevision,
): JsonObject {
  const spec = { template: { $patch: 'replace', ...withoutHash(template) } };
  const uid = text(object, 'metadata', 'uid');
  if (kind !== 'Deployment') return { metadata: { uid }, spec } as JsonObject;
  const before = tree(object, 'metadata', 'annotations');
  const then = Object.entries(tree(keeper, 'metadata', 'annotations')).filter(([name]) => !kept.has(name));
  const gone = Object.keys(before).filter((name) => !kept.has(name) && !then.some(([each]) => each === name));
  const annotations = Object.fromEntries([...then, ...gone.map((name) => [name, null] as const)]);
  return { metadata: { uid, annotations }, spec } as JsonObject;
}
