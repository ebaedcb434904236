import { badRequest, isNotFound, isPermissionDenied } from '../../api/errors/index.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { storedKind } from '../../api/kinds/versions.ts';
import { annotations } from '../../api/meta/well-known.ts';
import type { JsonObject } from '../../client/index.ts';
import type { ChunkSizeFlags } from '../args/chunk-size.ts';
import { parseResourceArguments } from '../args/resource-args.ts';
import { listAllJson } from '../get/listing.ts';
import { findTargets } from '../get/targets.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import type { Session } from '../session.ts';
import type { DescribeContext } from './describer.ts';
import { describerOf } from './index.ts';
import { text } from './json.ts';
import { createLines } from './lines.ts';
import { createLogTails } from './log-tails.ts';
import { writeEvents } from './sections.ts';

export interface DescribeFlags extends ChunkSizeFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly filename?: string[];
  readonly recursive?: boolean;
  readonly showEvents: string;
}

/** Objects of a kind that are read together; NOT_FOUND concerns them alone. */
interface Reading {
  readonly kind: Kind;
  read(): Promise<JsonObject[]>;
}

/** Each object as soon as it is known; a name that does not exist does not hide the others. */
export async function describe(session: Session, words: readonly string[], flags: DescribeFlags): Promise<void> {
  const context = { session, now: new Date(), logTails: createLogTails(session.client.pods) };
  const { readings, failed: unreadable } = await findReadings(session, words, flags);
  let [described, failed] = [0, unreadable];
  for (const { kind, read } of readings) {
    try {
      for (const object of await read()) {
        const whole = await describeObject(context, kind, object, flags);
        process.stdout.write(`${described > 0 ? '\n\n' : ''}${whole}`);
        described++;
      }
    } catch (error) {
      if (!isNotFound(error)) throw error;
      process.stderr.write(`error: ${describeFailure(error)}\n`);
      failed++;
    }
  }
  if (failed > 0) throw new ExitWith(1);
  if (described > 0) return;
  const everywhere = flags.allNamespaces || !readings.some(({ kind }) => kind.namespaced);
  process.stderr.write(`No resources found${everywhere ? '' : ` in ${session.namespace} namespace`}.\n`);
}

/** What the words or the manifests name. */
async function findReadings(
  session: Session,
  words: readonly string[],
  flags: DescribeFlags,
): Promise<{ readings: readonly Reading[]; failed: number }> {
  if (flags.filename === undefined) {
    // Whatever version they are named by.
    const readings = parseResourceArguments(words).flatMap(({ kind, names }) =>
      readingsOf(session, storedKind(kind), names, flags),
    );
    return { readings, failed: 0 };
  }
  const { targets, failed } = await findTargets(session, words, flags, 'describe');
  const { objects } = session.client;
  return {
    readings: targets.map(({ kind, key }) => ({
      kind: storedKind(kind),
      read: async () => [await objects.get(kindWord(storedKind(kind)), key)],
    })),
    failed,
  };
}

function readingsOf(session: Session, kind: Kind, names: readonly string[], flags: DescribeFlags): Reading[] {
  const { objects } = session.client;
  const namespace = kind.namespaced && !flags.allNamespaces ? session.namespace : undefined;
  if (names.length === 0)
    return [{ kind, read: () => listAllJson(objects, kind, { namespace, labelSelector: flags.selector }, flags) }];
  if (flags.selector) throw badRequest('names and selectors cannot be given together');
  if (flags.allNamespaces && kind.namespaced) throw badRequest('a name cannot be looked up in all namespaces; give one with -n');
  return names.map((name) => ({ kind, read: () => readNamed(session, kind, name) }));
}

/** The object of this name; when there is none, all objects with names that begin with it. */
async function readNamed({ client: { objects }, namespace: own }: Session, kind: Kind, name: string): Promise<JsonObject[]> {
  const namespace = kind.namespaced ? own : undefined;
  try {
    return [await objects.get(kindWord(kind), { namespace, name })];
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const all = await listAllJson(objects, kind, { namespace });
    const found = all.filter((object) => text(object, 'metadata', 'name').startsWith(name));
    if (found.length === 0) throw error;
    return found;
  }
}

async function describeObject(
  context: DescribeContext,
  kind: Kind,
  object: JsonObject,
  { showEvents }: DescribeFlags,
): Promise<string> {
  const withEvents = kind.kind !== 'Event' && showEvents !== 'false';
  const [write, events] = await Promise.all([
    describerOf(kind.kind)(object, context),
    withEvents ? readEvents(context.session, kind, object) : [],
  ]);
  const lines = createLines();
  write(lines);
  if (withEvents) writeEvents(events, lines, context.now);
  write.afterEvents?.(lines);
  return lines.text();
}

/**
 * As in kubectl: events of a static pod have its own uid, which its mirror names; events of a node from its agent have
 * the node's name as uid, because the agent may not know the uid.
 */
function selectorOfEvents({ kind }: Kind, object: JsonObject): string {
  if (kind === 'Node') return `involvedObject.kind=Node,involvedObject.name=${text(object, 'metadata', 'name')}`;
  const own = text(object, 'metadata', 'annotations', annotations.configMirror);
  return `involvedObject.uid=${own || text(object, 'metadata', 'uid')}`;
}

/**
 * In the object's namespace, where the events of an object are; those of an object without one may be in any. Without
 * the permission to list them the rest is described, with a warning.
 */
async function readEvents({ client }: Session, kind: Kind, object: JsonObject): Promise<JsonObject[]> {
  const namespace = text(object, 'metadata', 'namespace') || undefined;
  const fieldSelector = selectorOfEvents(kind, object);
  try {
    return await listAllJson(client.objects, kindNamed('Event'), { namespace, fieldSelector });
  } catch (error) {
    if (!isPermissionDenied(error)) throw error;
    process.stderr.write(`Warning: events are not shown: ${describeFailure(error)}\n`);
    return [];
  }
}
