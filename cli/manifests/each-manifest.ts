import type { ManifestDocument, ManifestObject } from '../../api/codec/yaml.ts';
import { invalid } from '../../api/errors/index.ts';
import { invalidValue, required } from '../../api/errors/violations.ts';
import { isCustom } from '../../api/kinds/custom/custom-kind.ts';
import { isKind } from '../../api/kinds/index.ts';
import type { BulkResult, BulkWrite, JsonObject, ObjectKey } from '../../client/index.ts';
import { ExitWith } from '../program/failure.ts';
import type { Session } from '../session.ts';
import { untilServed } from '../write/until-served.ts';
import { writeAll } from '../write/write-all.ts';
import { describeManifestFailure, describeManifestWarning } from './manifest-report.ts';

/**
 * Does `run` for every document that can be read, one after the other in the order of the files. A document that cannot
 * be read, or that the server refuses, is told on standard error and hides no other; the command then ends with 1.
 */
export async function eachManifest(
  session: Session,
  documents: readonly ManifestDocument[],
  run: (document: ManifestObject) => Promise<void>,
): Promise<void> {
  let failed = 0;
  for (const document of documents) {
    try {
      if ('problems' in document) failed += report(document);
      else
        await session.rewording(
          (text) => describeManifestWarning(document, text),
          () => run(document),
        );
    } catch (error) {
      if (error instanceof ExitWith) throw error;
      failed += report(document, error);
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

/** What becomes of a document: an object that is as it should be, or a write that makes it so. */
export type ManifestPlan =
  | { readonly object: JsonObject; readonly done: string }
  | { readonly write: ManifestWrite; done(after: JsonObject): string };

export type ManifestWrite = Extract<BulkWrite, { verb: 'patch' } | { verb: 'create' | 'update' | 'updateStatus' }>;

export interface ManifestWrites {
  plan(document: ManifestObject): Promise<ManifestPlan>;
  print(document: ManifestObject, object: JsonObject, done: string): Promise<void>;
}

/** So many documents are planned side by side, and written together. */
const TOGETHER = 100;

/**
 * As `eachManifest`, for commands that write one object for each document: those of many documents are sent together,
 * and printed in the order of the files. A document is planned when what comes before of the same object was written.
 */
export async function writeManifests(
  session: Session,
  documents: readonly ManifestDocument[],
  writes: ManifestWrites,
): Promise<void> {
  let failed = 0;
  const defined: string[] = [];
  for (const group of groupsOf(session, documents)) {
    if (group.some(isOfDefinition)) await untilServed(session.client.objects, defined.splice(0));
    const plans = await Promise.all(group.map((document) => planOf(document, writes)));
    const sent = plans.flatMap((plan) => (plan.plan && 'write' in plan.plan ? [plan.plan.write] : []));
    const results = writeAll(session.client.objects, sent);
    for (const [at, document] of group.entries()) {
      const { plan, error } = plans[at]!;
      if ('problems' in document || !plan) failed += report(document, error);
      else if ('object' in plan) await writes.print(document, plan.object, plan.done);
      else {
        const result = (await results.next()).value as BulkResult;
        for (const warning of result.warnings) tellWarning(document, warning);
        if (!result.error && isDefinition(document)) defined.push(document.object.metadata?.name ?? '');
        if (result.error) failed += report(document, result.error);
        else await writes.print(document, result.object, plan.done(result.object));
      }
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

async function planOf(document: ManifestDocument, { plan }: ManifestWrites): Promise<{ plan?: ManifestPlan; error?: unknown }> {
  try {
    return 'problems' in document ? {} : { plan: await plan(document) };
  } catch (error) {
    return { error };
  }
}

/**
 * Runs of documents of which none is about an object that another one of the run is about. What an object needs, its
 * namespace or a pod's account and classes, may be in its run: the server carries that out first (Objects.Bulk).
 */
function* groupsOf(session: Session, documents: readonly ManifestDocument[]): Generator<ManifestDocument[]> {
  let group: ManifestDocument[] = [];
  let keys = new Set<string>();
  for (const document of documents) {
    const key = 'problems' in document ? '' : objectKeyOf(session, document);
    const waits = isOfDefinition(document) && group.some(isDefinition);
    if (group.length === TOGETHER || waits || (key && keys.has(key))) {
      yield group;
      [group, keys] = [[], new Set()];
    }
    group.push(document);
    keys.add(key);
  }
  if (group.length > 0) yield group;
}

function isDefinition(document: ManifestDocument): document is ManifestObject {
  return !('problems' in document) && isKind(document.kind, 'CustomResourceDefinition');
}

/** Whether a document is of a kind that users added, perhaps just now. */
function isOfDefinition(document: ManifestDocument): boolean {
  return !('problems' in document) && isCustom(document.kind);
}

function objectKeyOf(session: Session, { kind, object: { metadata } }: ManifestObject): string {
  return metadata?.name ? `${kind.kind}/${metadata.namespace ?? session.namespace}/${metadata.name}` : '';
}

function tellWarning(document: ManifestDocument, warning: string): void {
  process.stderr.write(`Warning: ${describeManifestWarning(document, warning)}\n`);
}

function report(document: ManifestDocument, error?: unknown): 1 {
  process.stderr.write(`error: ${describeManifestFailure(document, error)}\n`);
  return 1;
}

/** The name and namespace that a document means; the namespace is --namespace where it names none. */
export function manifestKey(session: Session, { kind, object }: ManifestObject): ObjectKey {
  const name = object.metadata?.name;
  if (!name) throw invalid({ kind: kind.kind }, [required('metadata.name')]);
  return { name, namespace: manifestNamespace(session, { kind, object }) };
}

/** Where a document's object goes. A manifest that names another namespace than the command line is a mistake. */
export function manifestNamespace(
  session: Session,
  { kind, object }: Pick<ManifestObject, 'kind' | 'object'>,
): string | undefined {
  if (!kind.namespaced) return undefined;
  const own = object.metadata?.namespace;
  if (own && session.namespaceGiven && own !== session.namespace) {
    const why = `the command line says --namespace=${session.namespace}`;
    throw invalid({ kind: kind.kind }, [invalidValue('metadata.namespace', own, why)]);
  }
  return own || session.namespace;
}
