import type { Command } from 'commander';
import { badRequest, notFound } from '../../api/errors/index.ts';
import { timestamp, toRfc3339 } from '../../api/meta/time.ts';
import type { JsonObject } from '../../client/index.ts';
import { exactly, findMoment, type Moment, momentHelp } from '../args/moment.ts';
import { parseResourceArguments, type ResourceArgument } from '../args/resource-args.ts';
import type { Side } from '../diff/object-diff.ts';
import { diffFailed } from '../diff/usage-exit.ts';
import { listAllJson } from '../get/listing.ts';
import { keyOf } from '../get/targets.ts';
import { eachManifest } from '../manifests/each-manifest.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { findObject } from '../write/find-object.ts';
import { checkServerSideFlags, withServerSideFlags } from '../write/server-side-apply.ts';
import { withFieldManagerFlag, withManifestFlags } from '../write/write-options.ts';

interface DiffFlags {
  readonly at?: string;
  readonly to?: string;
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
  readonly selector?: string;
  readonly allNamespaces?: boolean;
  readonly serverSide?: boolean;
  readonly forceConflicts?: boolean;
  readonly fieldManager?: string;
}

/** The exit code that says that something differs. */
const differs = 1;

export function registerDiff(program: Command): void {
  const command = program
    .command('diff')
    .description('Show changes of objects since a time, or what apply would change; exit code 1 on differences')
    .argument('[type...]', 'TYPE/NAME..., TYPE [NAME...]')
    .option('--at <moment>', `compare with the objects as they were then: ${momentHelp}`)
    .option('--to <moment>', 'with --at: compare with that moment instead of now')
    .option('-l, --selector <selector>', 'only objects with these labels, e.g. app=web')
    .option('-A, --all-namespaces', 'of all namespaces')
    .action(async (words: string[], flags: DiffFlags, command: Command) => {
      let found = false;
      const print = (text: string): void => {
        found ||= text !== '';
        process.stdout.write(text);
      };
      try {
        checkFlags(words, flags);
        await withSession(command, (session) =>
          flags.filename ? diffManifests(session, flags, print) : diffMoments(session, words, flags, print),
        );
      } catch (error) {
        throw new ExitWith(diffFailed, error instanceof ExitWith ? error.message : describeFailure(error));
      }
      if (found) throw new ExitWith(differs);
    });
  withFieldManagerFlag(withServerSideFlags(command));
  withManifestFlags(command, 'what apply would change in the objects that these manifests name', { wordsFollow: true });
}

function checkFlags(words: readonly string[], flags: DiffFlags): void {
  const { at, to, filename, selector, allNamespaces, serverSide, forceConflicts } = flags;
  if (!filename && (serverSide || forceConflicts)) throw badRequest('--server-side and --force-conflicts go with -f');
  checkServerSideFlags(flags);
  if (filename && (words.length > 0 || at !== undefined || to !== undefined || selector || allNamespaces))
    throw badRequest('-f compares with what apply would make; it goes with neither names nor --at, --to, -l or -A');
  if (!filename && at === undefined) throw badRequest('say what to compare with: --at 10m, or -f FILE');
}

type Print = (text: string) => void;

async function diffManifests(session: Session, flags: DiffFlags, print: Print): Promise<void> {
  const { computeAfterApply } = await import('../diff/after-apply.ts');
  const { objectDiff } = await import('../diff/object-diff.ts');
  const { readManifests } = await import('../manifests/manifests.ts');
  const documents = await readManifests({ filename: flags.filename ?? [], recursive: flags.recursive ?? false });
  await eachManifest(session, documents, async (document) => {
    const { live, object, refusal } = await computeAfterApply(session, document, flags);
    const note = refusal === undefined ? 'after apply' : 'as the manifest says, which apply refuses';
    print(objectDiff(document.kind, { name: 'LIVE', note: 'now', object: live }, { name: 'MERGED', note, object }));
    if (refusal !== undefined) throw refusal;
  });
}

/** The two points that are compared; `to` is undefined for the present. */
interface Span {
  readonly from: Moment;
  readonly to: Moment | undefined;
}

async function diffMoments(session: Session, words: readonly string[], flags: DiffFlags, print: Print): Promise<void> {
  // Printing YAML takes a library that most commands do without.
  const { objectDiff } = await import('../diff/object-diff.ts');
  const wanted = parseResourceArguments(words);
  const { objects } = session.client;
  const from = await findMoment(objects, flags.at ?? '');
  const span: Span = { from, to: flags.to === undefined ? undefined : await findMoment(objects, flags.to) };
  for (const each of wanted)
    for (const pair of each.names.length > 0
      ? await namedPairs(session, each, span, flags)
      : await allPairs(session, each, span, flags))
      print(objectDiff(each.kind, side('THEN', span.from, pair.before), side(span.to ? 'LATER' : 'NOW', span.to, pair.after)));
}

function side(name: string, moment: Moment | undefined, object: JsonObject | undefined): Side {
  const note = moment ? `${toRfc3339(timestamp(moment.at))} (version ${moment.resourceVersion})` : 'now';
  return { name, note, object };
}

interface Pair {
  readonly before: JsonObject | undefined;
  readonly after: JsonObject | undefined;
}

async function namedPairs(session: Session, { kind, names }: ResourceArgument, span: Span, flags: DiffFlags): Promise<Pair[]> {
  if (flags.selector || flags.allNamespaces) throw badRequest('names cannot be given together with -l or -A');
  const pairs: Pair[] = [];
  for (const name of names) {
    const key = kind.namespaced ? { namespace: session.namespace, name } : { name };
    const readAt = (moment: Moment | undefined) => findObject(session.client.objects, kind, { ...key, ...exactly(moment) });
    const [before, after] = [await readAt(span.from), await readAt(span.to)];
    if (!before && !after) throw notFound({ kind: kind.kind, ...key });
    pairs.push({ before, after });
  }
  return pairs;
}

/** Everything of a kind that was there at one of the two points, in order of names. */
async function allPairs(session: Session, { kind }: ResourceArgument, span: Span, flags: DiffFlags): Promise<Pair[]> {
  const read = async (moment: Moment | undefined): Promise<Map<string, JsonObject>> => {
    const namespace = kind.namespaced && !flags.allNamespaces ? session.namespace : undefined;
    const scope = { namespace, labelSelector: flags.selector, ...exactly(moment) };
    const found = await listAllJson(session.client.objects, kind, scope);
    return new Map(found.map((object) => [placeOf(object), object]));
  };
  const [before, after] = [await read(span.from), await read(span.to)];
  const places = [...new Set([...before.keys(), ...after.keys()])].sort();
  return places.map((place) => ({ before: before.get(place), after: after.get(place) }));
}

function placeOf(object: JsonObject): string {
  const { namespace = '', name } = keyOf(object);
  return `${namespace}/${name}`;
}
