import { type Command, InvalidArgumentError } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { FieldChange, Revision } from '../../api/generated/types.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import { toRfc3339 } from '../../api/meta/time.ts';
import type { Json, JsonObject, ObjectKey, ObjectsClient } from '../../client/index.ts';
import { parseResourceArguments } from '../args/resource-args.ts';
import { historyHeadings, historyRows } from '../history/rows.ts';
import type { OutputFlags } from '../printers/formats.ts';
import type { ObjectOutput } from '../printers/output.ts';
import { readObjectOutput, withOutputFlags } from '../printers/output-flags.ts';
import { plainTable } from '../printers/plain-table.ts';
import { type Session, withSession } from '../session.ts';

interface HistoryFlags extends OutputFlags {
  readonly limit?: number;
  readonly full?: boolean;
  readonly headers: boolean;
}

export function registerHistory(program: Command): void {
  const command = program
    .command('history')
    .description('Show the history of an object, also of a deleted one: which user changed which fields when')
    .argument('<type...>', 'TYPE/NAME or TYPE NAME')
    .option('--limit <n>', 'only the newest n versions', parseLimit)
    .option('--full', 'every change, with whole values')
    .option('--no-headers', 'without headings')
    .action(async (words: string[], flags: HistoryFlags, command: Command) => {
      if (flags.output === 'name') throw badRequest('a history has no name: -o takes wide, json, yaml or a template');
      const output = flags.output === 'wide' ? undefined : await readObjectOutput(flags);
      await withSession(command, (session) => showHistory(session, words, flags, output));
    });
  withOutputFlags(command, 'how to print: wide, ');
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1) throw new InvalidArgumentError('give a whole number from 1 on');
  return limit;
}

async function showHistory(
  session: Session,
  words: readonly string[],
  flags: HistoryFlags,
  output: ObjectOutput | undefined,
): Promise<void> {
  const [only, ...others] = parseResourceArguments(words);
  const name = only?.names[0];
  if (!only || !name || others.length > 0 || only.names.length > 1)
    throw badRequest('name one object, e.g. berth history pod/web');
  const { kind } = only;
  const key = kind.namespaced ? { namespace: session.namespace, name } : { name };
  const wholeValues = flags.full === true || output !== undefined;
  const revisions = await readHistory(session.client.objects, kindWord(kind), key, { limit: flags.limit, wholeValues });
  if (output === undefined) {
    const wide = flags.output === 'wide';
    const options = { now: new Date(), wide, full: flags.full === true };
    const rows = revisions.flatMap((revision) => historyRows(revision, options));
    process.stdout.write(plainTable(flags.headers ? historyHeadings(wide) : undefined, rows));
    return;
  }
  const document: JsonObject = {
    kind: 'ObjectHistory',
    object: { apiVersion: kind.apiVersion, kind: kind.kind, ...key } as JsonObject,
    revisions: revisions.map(revisionJson),
  };
  const { printObjects } = await import('../printers/objects.ts');
  process.stdout.write(printObjects([document], output, { single: true, headers: flags.headers }));
}

interface Wanted {
  readonly limit: number | undefined;
  readonly wholeValues: boolean;
}

/** All pages, or as many as give `limit` versions. */
async function readHistory(
  objects: ObjectsClient,
  kind: string,
  key: ObjectKey,
  { limit, wholeValues }: Wanted,
): Promise<Revision[]> {
  const revisions: Revision[] = [];
  let token: string | undefined;
  do {
    const left = limit === undefined ? undefined : limit - revisions.length;
    const page = await objects.history(kind, key, { wholeValues, limit: left, continue: token });
    revisions.push(...page.revisions);
    token = page.continue;
  } while (token !== undefined && (limit === undefined || revisions.length < limit));
  return revisions;
}

function revisionJson({ time, changes = [], ...rest }: Revision): JsonObject {
  return { ...rest, ...(time && { time: toRfc3339(time) }), changes: changes.map(changeJson) } as JsonObject;
}

/** Values as JSON, unless they are cut. */
function changeJson({ before, after, ...rest }: FieldChange): JsonObject {
  const value = (text: string): Json => (rest.cut ? text : (JSON.parse(text) as Json));
  return {
    ...rest,
    ...(before !== undefined && { before: value(before) }),
    ...(after !== undefined && { after: value(after) }),
  } as JsonObject;
}
