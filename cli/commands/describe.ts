import type { Command } from 'commander';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../client/index.ts';
import type { DescribeContext } from '../describe/describer.ts';
import { describerOf } from '../describe/index.ts';
import { text } from '../describe/json.ts';
import { createLines } from '../describe/lines.ts';
import { createLogTails } from '../describe/log-tails.ts';
import { writeEvents } from '../describe/sections.ts';
import { describeFailure, ExitWith } from '../failure.ts';
import { listAllJson } from '../listing.ts';
import { parseResourceArguments } from '../resource-args.ts';
import { type Session, withSession } from '../session.ts';

interface DescribeFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly showEvents: string;
}

export function registerDescribe(program: Command): void {
  program
    .command('describe')
    .description('Show everything about objects, with what happened to them')
    .argument('<type...>', 'TYPE [NAME or beginning of names...] or TYPE/NAME...')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <selector>', 'those with these labels')
    .option('--show-events <bool>', 'with what happened to them', 'true')
    .action(async (words: string[], flags: DescribeFlags, command: Command) => {
      await withSession(command, (session) => describe(session, words, flags));
    });
}

/** Each object as soon as it is known; a name that does not exist does not hide the others. */
async function describe(session: Session, words: readonly string[], flags: DescribeFlags): Promise<void> {
  const context = { session, now: new Date(), logTails: createLogTails(session.client.pods) };
  let described = 0;
  let failed = 0;
  for (const { kind, names } of parseResourceArguments(words)) {
    for (const read of readers(session, kind, names, flags)) {
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
  }
  if (failed > 0) throw new ExitWith(1);
  if (described === 0) process.stderr.write('No resources found.\n');
}

/** What reads the objects that the words name: one reader for each name, or one for all. */
function readers(session: Session, kind: Kind, names: readonly string[], flags: DescribeFlags): (() => Promise<JsonObject[]>)[] {
  const { objects } = session.client;
  const namespace = kind.namespaced && !flags.allNamespaces ? session.namespace : undefined;
  if (names.length === 0) return [() => listAllJson(objects, kind, { namespace, labelSelector: flags.selector })];
  if (flags.selector) throw badRequest('names and selectors cannot be given together');
  if (flags.allNamespaces && kind.namespaced) throw badRequest('a name cannot be looked up in all namespaces; give one with -n');
  return names.map((name) => () => readNamed(session, kind, name));
}

/** The object of this name; when there is none, all whose names begin so. */
async function readNamed({ client: { objects }, namespace: own }: Session, kind: Kind, name: string): Promise<JsonObject[]> {
  const namespace = kind.namespaced ? own : undefined;
  try {
    return [await objects.get(kind.kind, { namespace, name })];
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
    withEvents ? readEvents(context.session, object) : [],
  ]);
  const lines = createLines();
  write(lines);
  if (withEvents) writeEvents(events, lines, context.now);
  return lines.text();
}

async function readEvents({ client }: Session, object: JsonObject): Promise<JsonObject[]> {
  const fieldSelector = `involvedObject.uid=${text(object, 'metadata', 'uid')}`;
  return await listAllJson(client.objects, kindNamed('Event'), { fieldSelector });
}
