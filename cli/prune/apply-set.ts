import { createHash } from 'node:crypto';
import { badRequest } from '../../api/errors/index.ts';
import { groupKindOf, groupOf } from '../../api/kinds/identity.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { isJsonObject, type JsonObject } from '../../api/meta/merge-patch.ts';
import { knownKinds } from '../args/other-kinds.ts';

// Labels and annotations of KEP-3659, which kubectl and other tools read.
const idLabel = 'applyset.kubernetes.io/id';
export const partOfLabel = 'applyset.kubernetes.io/part-of';
const toolingAnnotation = 'applyset.kubernetes.io/tooling';
const kindsAnnotation = 'applyset.kubernetes.io/contains-group-kinds';
const namespacesAnnotation = 'applyset.kubernetes.io/additional-namespaces';
/** Name and version of what wrote the set; a set of another name is left alone. */
const tool = 'berth';
const tooling = `${tool}/v1`;

/** The object that keeps what is in a set. */
export interface SetParent {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/** Which kinds a set's members may be of, and where, beside the parent's namespace. */
export interface SetContents {
  readonly kinds: readonly Kind[];
  readonly namespaces: readonly string[];
}

/** The label of the members: which set they belong to, as Kubernetes computes it. */
export function applySetId({ kind, namespace, name }: SetParent): string {
  const text = [name, namespace, kind.kind, groupOf(kind.apiVersion)].join('.');
  return `applyset-${createHash('sha256').update(text).digest('base64url')}-v1`;
}

/** What a parent says that the set holds. Throws INVALID_ARGUMENT for what is no parent of a set of Berth's. */
export function readContents(parent: SetParent, live: JsonObject): SetContents {
  const { labels, annotations } = (isJsonObject(live.metadata) ? live.metadata : {}) as Record<string, Record<string, string>>;
  const what = `the ${parent.kind.singular} "${parent.name}"`;
  const used = annotations?.[toolingAnnotation];
  if (used === undefined)
    throw badRequest(`${what} exists and keeps no set: it has no annotation ${toolingAnnotation}; choose another name`);
  if (used.split('/')[0] !== tool)
    throw badRequest(`${what} keeps a set of ${used}, which only that tool changes; choose another name for one of Berth's`);
  const id = labels?.[idLabel];
  if (id !== applySetId(parent))
    throw badRequest(`${what} has the label ${idLabel}=${id ?? ''}, not ${applySetId(parent)}: it was copied or changed`);
  const names = annotations?.[kindsAnnotation];
  if (names === undefined) throw badRequest(`${what} has no annotation ${kindsAnnotation}, which names what may be pruned`);
  return { kinds: split(names).map((name) => kindIn(name, what)), namespaces: split(annotations?.[namespacesAnnotation] ?? '') };
}

function kindIn(name: string, what: string): Kind {
  const found = knownKinds().find((kind) => groupKindOf(kind) === name);
  if (!found) throw badRequest(`${what} names the kind ${name} in ${kindsAnnotation}, which Berth does not have`);
  return found;
}

function split(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}

/** The labels and annotations of a parent, for what the set holds. */
export function parentMetadata(parent: SetParent, contents: SetContents): JsonObject {
  const { kinds: held, namespaces } = contents;
  return {
    labels: { [idLabel]: applySetId(parent) },
    annotations: {
      [toolingAnnotation]: tooling,
      [kindsAnnotation]: [...new Set(held.map(groupKindOf))].sort().join(','),
      [namespacesAnnotation]: [...new Set(namespaces)]
        .filter((each) => each !== parent.namespace)
        .sort()
        .join(','),
    },
  };
}

export function mergeContents(one: SetContents, other: SetContents): SetContents {
  return {
    kinds: [...new Set([...one.kinds, ...other.kinds])],
    namespaces: [...new Set([...one.namespaces, ...other.namespaces])],
  };
}
