import type { ManifestDocument, ManifestObject } from '../../api/codec/yaml.ts';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { kindId } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { storedKind } from '../../api/kinds/versions.ts';
import { parseLabelSelector } from '../../api/meta/labels.ts';
import { annotations as wellKnown } from '../../api/meta/well-known.ts';
import type { JsonObject, ObjectKey } from '../../client/index.ts';
import { listAllJson } from '../get/listing.ts';
import { keyOf } from '../get/targets.ts';
import { manifestNamespace } from '../manifests/each-manifest.ts';
import { describeManifestFailure } from '../manifests/manifest-report.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import type { Session } from '../session.ts';
import { findObject } from '../write/find-object.ts';
import { writeAll } from '../write/write-all.ts';
import { type WriteFlags, type WritePrinter, writeOptions } from '../write/write-options.ts';
import {
  applySetId,
  mergeContents,
  parentMetadata,
  partOfLabel,
  readContents,
  type SetContents,
  type SetParent,
} from './apply-set.ts';
import type { PruneChoice } from './prune-flags.ts';

/** Deletes what was applied before and is no longer in the manifests, after all of them were applied. */
export interface Pruner {
  /** The document as it is to be applied. */
  member(document: ManifestObject): ManifestObject;
  /** Throws for an object that belongs elsewhere; `live` is what there is. */
  check(document: ManifestObject, live: JsonObject | undefined): void;
  /** Called once, when every document was applied. */
  prune(printer: WritePrinter): Promise<void>;
}

/** The documents that have the labels that -l asks for. What cannot be read stays: it is told. */
export function selectDocuments(documents: readonly ManifestDocument[], selector: string | undefined): ManifestDocument[] {
  if (selector === undefined) return [...documents];
  const wanted = parseLabelSelector(selector);
  const chosen = documents.filter((each) => 'problems' in each || wanted.matches(each.object.metadata?.labels ?? {}));
  if (chosen.length === 0) throw badRequest(`no object of the manifests has the labels ${selector}`);
  return chosen;
}

/** Begins before anything is applied: the parent of a set then knows what may come. */
export async function openPruner(
  session: Session,
  choice: PruneChoice,
  documents: readonly ManifestDocument[],
  flags: WriteFlags,
): Promise<Pruner> {
  const read = documents.filter((document): document is ManifestObject => !('problems' in document));
  const namespaces = [...new Set(read.flatMap((document) => namespaceOf(session, document) ?? []))];
  const contents = { kinds: [...new Set(read.map(({ kind }) => kind))], namespaces };
  const applied = new Set(read.map((document) => placeOf(document.kind, appliedKey(session, document))));
  const found = { session, flags, applied };
  if (choice.by === 'set') return await openSet(found, { ...choice.parent, namespace: session.namespace }, contents);
  const { selector, kindsGiven } = choice;
  // A namespace on the command line limits what is looked at.
  const kinds = choice.kinds.filter((kind) => kind.namespaced || kindsGiven || !session.namespaceGiven);
  return {
    member: (document) => document,
    check() {},
    async prune(printer) {
      const isApplied = ({ metadata }: JsonObject): boolean =>
        ((metadata as JsonObject).annotations as JsonObject | undefined)?.[wellKnown.lastApplied] !== undefined;
      await pruneOthers(found, { kinds, namespaces, selector, isApplied }, printer);
    },
  };
}

/** The namespace of a document. One that it cannot be in stops all, as the set would not be known: with its place. */
function namespaceOf(session: Session, document: ManifestObject): string | undefined {
  try {
    return manifestNamespace(session, document);
  } catch (error) {
    throw new ExitWith(1, describeManifestFailure(document, error));
  }
}

interface Applied {
  readonly session: Session;
  readonly flags: WriteFlags;
  /** The places of what the manifests hold. */
  readonly applied: ReadonlySet<string>;
}

function appliedKey(session: Session, document: ManifestObject): ObjectKey {
  return { name: document.object.metadata?.name ?? '', namespace: manifestNamespace(session, document) };
}

function placeOf(kind: Kind, { namespace = '', name }: ObjectKey): string {
  return `${kindId(storedKind(kind))}/${namespace}/${name}`;
}

async function openSet(found: Applied, parent: SetParent, contents: SetContents): Promise<Pruner> {
  const { session } = found;
  const id = applySetId(parent);
  const { kind, namespace, name } = parent;
  const readParent = () => findObject(session.client.objects, kind, { namespace, name });
  const live = await readParent();
  const before = live ? readContents(parent, live) : { kinds: [], namespaces: [] };
  const either = mergeContents(before, contents);
  await writeParent(found, parent, either, live);
  return {
    member(document) {
      const { object, json } = document;
      const labelled = (metadata: JsonObject = {}): JsonObject => ({
        ...metadata,
        labels: { ...(metadata.labels as JsonObject | undefined), [partOfLabel]: id },
      });
      return {
        ...document,
        object: { ...object, metadata: { ...object.metadata, labels: { ...object.metadata?.labels, [partOfLabel]: id } } },
        json: { ...json, metadata: labelled(json.metadata as JsonObject | undefined) },
      };
    },
    check(document, object) {
      const { labels } = (object?.metadata ?? {}) as { labels?: Record<string, string> };
      const other = labels?.[partOfLabel];
      if (other === undefined || other === id) return;
      const name = document.object.metadata?.name ?? '';
      throw badRequest(
        `the ${document.kind.singular} "${name}" is part of another set (${other}): remove its label ${partOfLabel} first`,
      );
    },
    async prune(printer) {
      const namespaces = [...new Set([parent.namespace, ...either.namespaces])];
      const selector = `${partOfLabel}=${id}`;
      await pruneOthers(found, { kinds: either.kinds, namespaces, selector, isApplied: () => true }, printer);
      await writeParent(found, parent, contents, await readParent());
    },
  };
}

async function writeParent(
  { session, flags }: Applied,
  { kind, namespace, name }: SetParent,
  contents: SetContents,
  live: JsonObject | undefined,
): Promise<void> {
  if (flags.dryRun === 'client') return;
  const options = writeOptions(flags, 'berth-applyset');
  const metadata = parentMetadata({ kind, namespace, name }, contents);
  const { objects } = session.client;
  if (live) await objects.patch(kindWord(kind), { namespace, name }, { metadata }, options);
  else {
    const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { ...metadata, name, namespace } };
    await objects.create(kindWord(kind), object, { ...options, namespace });
  }
}

interface Looked {
  readonly kinds: readonly Kind[];
  readonly namespaces: readonly string[];
  readonly selector: string | undefined;
  isApplied(object: JsonObject): boolean;
}

/** What lives in namespaces goes first, and namespaces last. */
async function pruneOthers({ session, flags, applied }: Applied, looked: Looked, printer: WritePrinter): Promise<void> {
  const { objects } = session.client;
  const writes = [];
  for (const kind of looked.kinds.toSorted((a, b) => rank(a) - rank(b)))
    for (const namespace of kind.namespaced ? looked.namespaces : [undefined]) {
      const live = await listAllJson(objects, kind, { namespace, labelSelector: looked.selector });
      for (const object of live) {
        const key = keyOf(object);
        const { uid, deletionTimestamp } = object.metadata as { uid?: string; deletionTimestamp?: string };
        if (applied.has(placeOf(kind, key)) || deletionTimestamp !== undefined || !looked.isApplied(object)) continue;
        const options = { preconditions: { uid }, ...(flags.dryRun === 'server' && { dryRun: ['All'] }) };
        writes.push({ verb: 'delete', kind: kindWord(kind), key, options, type: kind, object } as const);
      }
    }
  if (flags.dryRun === 'client') {
    for (const { type, object } of writes) await printer.print(type, object, 'pruned');
    return;
  }
  let failed = 0;
  for await (const { write, error } of writeAll(objects, writes)) {
    if (!error || isNotFound(error)) await printer.print(write.type, write.object, 'pruned');
    else {
      failed++;
      process.stderr.write(`error: cannot prune: ${describeFailure(error)}\n`);
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

function rank({ kind, namespaced }: Kind): number {
  return namespaced ? 0 : kind === 'Namespace' ? 2 : 1;
}
