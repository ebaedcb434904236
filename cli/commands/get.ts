import { type Command, Option } from 'commander';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import type { Table, TableColumn, TableRow } from '../../api/generated/types.ts';
import { kindWord } from '../../api/kinds/custom/kind-word.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { timestamp } from '../../api/meta/time.ts';
import type { JsonObject, VersionedKey } from '../../client/index.ts';
import { type ChunkSizeFlags, withChunkSizeFlag } from '../args/chunk-size.ts';
import { exactly, findMoment, type Moment, momentHelp } from '../args/moment.ts';
import { groupByKind, isCategory, parseResourceArguments, type ResourceArgument } from '../args/resource-args.ts';
import { checkSubresource } from '../args/subresource.ts';
import { type FollowOptions, followObjects, followTable } from '../get/follow.ts';
import { listAllJson, listAllRows } from '../get/listing.ts';
import { SortOrder } from '../get/sort-by.ts';
import { findTargets } from '../get/targets.ts';
import type { OutputFlags } from '../printers/formats.ts';
import { type Output, parseOutput } from '../printers/output.ts';
import { withOutputFlags } from '../printers/output-flags.ts';
import { orderRows } from '../printers/row-order.ts';
import { createTablePrinter } from '../printers/table.ts';
import { typeName } from '../printers/type-name.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';
import { withManagedFieldsFlag, withManifestFlags } from '../write/write-options.ts';

interface GetFlags extends OutputFlags, ChunkSizeFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly watch?: boolean;
  readonly watchOnly?: boolean;
  readonly headers: boolean;
  readonly raw?: string;
  readonly showKind?: boolean;
  readonly showLabels?: boolean;
  readonly labelColumns?: string[];
  readonly sortBy?: string;
  readonly ignoreNotFound?: boolean;
  readonly showManagedFields?: boolean;
  readonly at?: string;
  readonly subresource?: string;
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
}

/** What to show, and how. */
interface Query extends GetFlags {
  readonly wide: boolean;
  /** Names are printed as "pod/web": several types are shown, or --show-kind asks for it. */
  readonly prefixed: boolean;
  /** The state that is shown, when not the present. */
  readonly moment?: Moment | undefined;
}

export function registerGet(program: Command): void {
  const command = program
    .command('get')
    .description('Show objects: pods, pod/web, pods,nodes, all ...')
    .argument('[type...]', 'TYPE [NAME...], TYPE/NAME..., TYPE,TYPE or all')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <selector>', 'only objects with these labels, e.g. app=web')
    .option('--field-selector <selector>', 'only objects with these fields, e.g. spec.nodeName=n1')
    .option('--at <moment>', `as it was then: ${momentHelp}`)
    .option('-w, --watch', 'watch for changes')
    .option('--watch-only', 'show changes only')
    .option('--no-headers', 'without headings')
    .option('--show-kind', 'names with their type, as pod/web')
    .option('--show-labels', 'with a column of labels')
    .option('-L, --label-columns <keys>', 'with a column for each of these labels', collectKeys, [])
    .option('--sort-by <path>', 'in order of a field, e.g. .metadata.creationTimestamp')
    .option('--raw <path>', 'a page of the server: /healthz, /livez, /readyz (?verbose), /version, /metrics')
    .option('--ignore-not-found', 'say nothing when an object does not exist')
    .addOption(new Option('--subresource <name>', 'of objects that are named: show this').choices(['status', 'scale', 'resize']))
    .action(async (words: string[], flags: GetFlags, command: Command) => {
      if (flags.raw !== undefined) return await getRaw(flags.raw, words, flags, command);
      const output = await parseOutput(flags);
      const wide = flags.output === 'wide';
      if (flags.at !== undefined && (flags.watch || flags.watchOnly))
        throw badRequest('--watch shows what happens from now on; --at does not go with it');
      await withSession(command, async (session) => {
        const { wanted, failed } = await findWanted(session, words, flags);
        checkPart(wanted, flags);
        const moment = flags.at === undefined ? undefined : await findMoment(session.client.objects, flags.at);
        const prefixed = flags.showKind === true || wanted.length > 1 || isCategory(words[0] ?? '');
        const query: Query = { ...flags, moment, wide, prefixed };
        if (flags.watch || flags.watchOnly) await watch(session, wanted, query, output);
        else if (output.format === 'wide') await showTables(session, wanted, query);
        else await showObjects(session, wanted, query, output);
        if (failed > 0) throw new ExitWith(1);
      });
    });
  const printed = withOutputFlags(withChunkSizeFlag(command), 'how to print: wide, ');
  withManifestFlags(withManagedFieldsFlag(printed), 'the objects that these manifests name');
}

async function getRaw(path: string, words: readonly string[], flags: GetFlags, command: Command): Promise<void> {
  const { checkRaw, printRaw } = await import('../raw/get-raw.ts');
  const { output, template, selector, watch, filename } = flags;
  checkRaw(path, words, { output, template, selector, watch, filename, 'field-selector': flags.fieldSelector, at: flags.at });
  await withSession(command, (session) => printRaw(session, path));
}

function collectKeys(text: string, before: string[]): string[] {
  return [...before, ...text.split(',').filter(Boolean)];
}

/** A subresource is of objects that are named. Throws INVALID_ARGUMENT. */
function checkPart(wanted: readonly ResourceArgument[], { subresource, watch, watchOnly }: GetFlags): void {
  if (subresource === undefined) return;
  if (watch || watchOnly) throw badRequest('--subresource shows what is there now; --watch does not go with it');
  for (const { kind, names } of wanted) {
    if (names.length === 0) throw badRequest('--subresource is for objects that are named: TYPE NAME or TYPE/NAME');
    checkSubresource(kind, subresource);
  }
}

/** Only the Scale is read by itself: every other subresource is a part of the object. */
function partOf({ subresource }: GetFlags): { readonly subresource?: string } {
  return subresource === 'scale' ? { subresource } : {};
}

interface Wanted {
  readonly wanted: readonly ResourceArgument[];
  /** How many documents of `-f` name no object; each was told on standard error. */
  readonly failed: number;
}

/** What the words or the manifests name, in their order; each document asks for one object. */
async function findWanted(session: Session, words: readonly string[], flags: GetFlags): Promise<Wanted> {
  if (!flags.filename) return { wanted: parseResourceArguments(words), failed: 0 };
  const { targets, failed } = await findTargets(session, words, flags, 'get');
  const named = targets.map(({ kind, key }) => ({ kind, names: [key.name], namespace: key.namespace }));
  return { wanted: groupByKind(named), failed };
}

async function showObjects(
  session: Session,
  wanted: readonly ResourceArgument[],
  query: Query,
  output: Exclude<Output, { format: 'wide' }>,
): Promise<void> {
  const { printObjects } = await import('../printers/objects.ts');
  const single = wanted.length === 1 && wanted[0]?.names.length === 1;
  const missing = new Missing(query);
  let found: JsonObject[] = [];
  for (const each of wanted) found.push(...(await readJson(session, each, query, missing)));
  if (query.sortBy) {
    const order = new SortOrder(query.sortBy);
    found = order.objects(found);
    await order.check();
  }
  if (found.length > 0 || !single) process.stdout.write(printObjects(found, output, { ...query, single }));
  missing.fail();
}

async function showTables(session: Session, wanted: readonly ResourceArgument[], query: Query): Promise<void> {
  const missing = new Missing(query);
  const order = query.sortBy ? new SortOrder(query.sortBy) : undefined;
  const texts: string[] = [];
  let printed = 0;
  for (const each of wanted) {
    const { columns, rows } = await readTable(session, each, query, missing);
    if (rows.length === 0) continue;
    const ordered = order ? order.rows(rows, await readSortKeys(session, each, query)) : rows;
    const text = `${printed > 0 ? '\n' : ''}${tablePrinter(columns, each.kind, query)(ordered)}`;
    // Whether the order makes sense is known when everything was read.
    if (order) texts.push(text);
    else process.stdout.write(text);
    printed += rows.length;
  }
  await order?.check();
  for (const text of texts) process.stdout.write(text);
  const named = wanted.some((each) => each.names.length > 0);
  if (printed === 0 && !named) process.stderr.write(`No resources found${placeText(session, wanted, query)}.\n`);
  missing.fail();
}

/** The table does not hold the fields to sort by: the objects do. */
async function readSortKeys(session: Session, each: ResourceArgument, query: Query): Promise<JsonObject[]> {
  return await readJson(session, each, query, new Missing({ ...query, ignoreNotFound: true }));
}

/** Objects that were named and do not exist: an error is printed for each, and the others are still shown. */
class Missing {
  readonly #ignored: boolean;
  readonly #errors: unknown[] = [];

  constructor({ ignoreNotFound = false }: Pick<GetFlags, 'ignoreNotFound'>) {
    this.#ignored = ignoreNotFound;
  }

  async orNothing<T>(found: Promise<T>): Promise<T | undefined> {
    try {
      return await found;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (!this.#ignored) this.#errors.push(error);
      return undefined;
    }
  }

  /** Ends the command when something was missing. */
  fail(): void {
    if (this.#errors.length > 0) throw new ExitWith(1, this.#errors.map(describeFailure).join('\nerror: '));
  }
}

function placeText(session: Session, wanted: readonly ResourceArgument[], flags: Query): string {
  return flags.allNamespaces || !wanted.some((each) => each.kind.namespaced) ? '' : ` in ${session.namespace} namespace`;
}

function tablePrinter(columns: readonly TableColumn[], kind: Kind, flags: Query) {
  return createTablePrinter(columns, {
    wide: flags.wide,
    headers: flags.headers,
    showLabels: flags.showLabels ?? false,
    labelColumns: flags.labelColumns ?? [],
    showNamespace: (flags.allNamespaces ?? false) && kind.namespaced,
    namePrefix: flags.prefixed ? `${typeName(kind)}/` : '',
    now: () => flags.moment?.at ?? new Date(),
  });
}

function scopeOf(session: Session, kind: Kind, flags: Query) {
  return {
    namespace: kind.namespaced && !flags.allNamespaces ? session.namespace : undefined,
    labelSelector: flags.selector,
    fieldSelector: flags.fieldSelector,
    ...exactly(flags.moment),
  };
}

async function readTable(session: Session, each: ResourceArgument, flags: Query, missing: Missing) {
  const { kind } = each;
  const { objects } = session.client;
  const tables: Table[] = [];
  const asOf = flags.moment && timestamp(flags.moment.at);
  if (each.names.length === 0) tables.push(await listAllRows(objects, kind, { ...scopeOf(session, kind, flags), asOf }, flags));
  else
    for (const key of keysOf(session, each, flags)) {
      const table = await missing.orNothing(objects.getTable(kindWord(kind), { ...key, ...partOf(flags), asOf }));
      if (table) tables.push(table);
    }
  const columns = tables[0]?.columns ?? [];
  return {
    columns,
    rows: orderRows(
      kind,
      columns,
      tables.flatMap((table) => table.rows ?? []),
    ),
  };
}

async function readJson(session: Session, each: ResourceArgument, flags: Query, missing: Missing): Promise<JsonObject[]> {
  const { kind } = each;
  if (each.names.length === 0) return await listAllJson(session.client.objects, kind, scopeOf(session, kind, flags), flags);
  const found: JsonObject[] = [];
  for (const key of keysOf(session, each, flags)) {
    const object = await missing.orNothing(session.client.objects.get(kindWord(kind), { ...key, ...partOf(flags) }));
    if (object) found.push(object);
  }
  return found;
}

function keysOf(session: Session, { kind, names, namespace }: ResourceArgument, flags: Query): VersionedKey[] {
  if (flags.selector || flags.fieldSelector) throw badRequest('names and selectors cannot be given together');
  if (flags.allNamespaces && kind.namespaced) throw badRequest('a name cannot be looked up in all namespaces; give one with -n');
  return names.map((name) => ({
    namespace: kind.namespaced ? (namespace ?? session.namespace) : undefined,
    name,
    ...exactly(flags.moment),
  }));
}

/** Shows the objects and then every change, until interrupted. A stream that ends in order is resumed. */
async function watch(session: Session, wanted: readonly ResourceArgument[], flags: Query, output: Output): Promise<void> {
  const [only] = wanted;
  if (!only || wanted.length > 1 || only.names.length > 1) throw badRequest('--watch shows one resource type, or one object');
  if (flags.sortBy) throw badRequest('--watch shows changes as they come; --sort-by does not go with it');
  const { kind, names } = only;
  const nameSelector = names[0] === undefined ? undefined : `metadata.name=${names[0]}`;
  const scope = {
    ...scopeOf(session, kind, flags),
    ...(nameSelector ? { fieldSelector: nameSelector } : {}),
    ...(only.namespace ? { namespace: only.namespace } : {}),
    initial: !flags.watchOnly,
  };
  if (output.format === 'wide') return await watchTable(session, kind, scope, flags);
  const { printObjects } = await import('../printers/objects.ts');
  let headers = flags.headers;
  let isFirst = true;
  for await (const objects of followObjects(session.client.objects, kind, scope, interruptSignal()))
    for (const object of objects) {
      const text = printObjects([object], output, { ...flags, headers, single: true });
      process.stdout.write(output.format === 'yaml' && !isFirst ? `---\n${text}` : text);
      [headers, isFirst] = [false, false];
    }
}

async function watchTable(session: Session, kind: Kind, scope: FollowOptions, flags: Query): Promise<void> {
  let columns: readonly TableColumn[] = [];
  let print: ((rows: readonly TableRow[]) => string) | undefined;
  for await (const table of followTable(session.client.objects, kind, scope, interruptSignal())) {
    if (table.columns?.length) columns = table.columns;
    if (columns.length > 0) print ??= tablePrinter(columns, kind, flags);
    const rows = table.rows ?? [];
    if (print && rows.length > 0) process.stdout.write(print(orderRows(kind, columns, rows)));
  }
}
