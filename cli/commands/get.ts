import { type Command, Option } from 'commander';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import type { Table, TableColumn, TableRow } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject, ObjectKey } from '../../client/index.ts';
import { followTable } from '../follow.ts';
import { listAllJson, listAllRows } from '../listing.ts';
import { type ObjectOutput, printObjects } from '../printers/objects.ts';
import { orderRows } from '../printers/row-order.ts';
import { createTablePrinter } from '../printers/table.ts';
import { parseResourceArguments, type ResourceArgument } from '../resource-args.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';

interface GetFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly output?: 'wide' | ObjectOutput;
  readonly watch?: boolean;
  readonly watchOnly?: boolean;
  readonly headers: boolean;
  readonly showLabels?: boolean;
  readonly ignoreNotFound?: boolean;
}

export function registerGet(program: Command): void {
  program
    .command('get')
    .description('Show objects: pods, pod/web, pods,nodes ...')
    .argument('<type...>', 'TYPE [NAME...], TYPE/NAME... or TYPE,TYPE')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('-l, --selector <selector>', 'only objects with these labels, e.g. app=web')
    .option('--field-selector <selector>', 'only objects with these fields, e.g. spec.nodeName=n1')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['wide', 'json', 'yaml', 'name']))
    .option('-w, --watch', 'go on showing changes')
    .option('--watch-only', 'show changes only')
    .option('--no-headers', 'without headings')
    .option('--show-labels', 'with a column of labels')
    .option('--ignore-not-found', 'say nothing when an object does not exist')
    .action(async (words: string[], flags: GetFlags, command: Command) => {
      await withSession(command, (session) => get(session, parseResourceArguments(words), flags));
    });
}

async function get(session: Session, wanted: readonly ResourceArgument[], flags: GetFlags): Promise<void> {
  if (flags.watch || flags.watchOnly) return await watchTable(session, wanted, flags);
  if (flags.output && flags.output !== 'wide') {
    const single = wanted.length === 1 && wanted[0]?.names.length === 1;
    const found = (await Promise.all(wanted.map((each) => readJson(session, each, flags)))).flat();
    process.stdout.write(printObjects(found, flags.output, { single }));
    return;
  }
  let printed = 0;
  for (const each of wanted) {
    const { columns, rows } = await readTable(session, each, flags);
    if (rows.length === 0) continue;
    if (printed > 0) process.stdout.write('\n');
    process.stdout.write(tablePrinter(columns, each.kind, wanted.length > 1, flags)(rows));
    printed += rows.length;
  }
  const named = wanted.some((each) => each.names.length > 0);
  if (printed === 0 && !named) process.stderr.write(`No resources found${placeText(session, wanted, flags)}.\n`);
}

function placeText(session: Session, wanted: readonly ResourceArgument[], flags: GetFlags): string {
  return flags.allNamespaces || !wanted.some((each) => each.kind.namespaced) ? '' : ` in ${session.namespace} namespace`;
}

function tablePrinter(columns: readonly TableColumn[], kind: Kind, several: boolean, flags: GetFlags) {
  return createTablePrinter(columns, {
    wide: flags.output === 'wide',
    headers: flags.headers,
    showLabels: flags.showLabels ?? false,
    showNamespace: (flags.allNamespaces ?? false) && kind.namespaced,
    namePrefix: several ? `${kind.singular}/` : '',
    now: () => new Date(),
  });
}

function scopeOf(session: Session, kind: Kind, flags: GetFlags) {
  return {
    namespace: kind.namespaced && !flags.allNamespaces ? session.namespace : undefined,
    labelSelector: flags.selector,
    fieldSelector: flags.fieldSelector,
  };
}

async function readTable(session: Session, { kind, names }: ResourceArgument, flags: GetFlags) {
  const { objects } = session.client;
  const tables: Table[] = [];
  if (names.length === 0) tables.push(await listAllRows(objects, kind, scopeOf(session, kind, flags)));
  else
    for (const key of keysOf(session, kind, names, flags)) {
      const table = await orNothing(objects.getTable(kind.kind, key), flags);
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

async function readJson(session: Session, { kind, names }: ResourceArgument, flags: GetFlags): Promise<JsonObject[]> {
  const { objects } = session.client;
  if (names.length === 0) return await listAllJson(objects, kind, scopeOf(session, kind, flags));
  const found: JsonObject[] = [];
  for (const key of keysOf(session, kind, names, flags)) {
    const object = await orNothing(objects.get(kind.kind, key), flags);
    if (object) found.push(object);
  }
  return found;
}

function keysOf(session: Session, kind: Kind, names: readonly string[], flags: GetFlags): ObjectKey[] {
  if (flags.selector || flags.fieldSelector) throw badRequest('names and selectors cannot be given together');
  if (flags.allNamespaces && kind.namespaced) throw badRequest('a name cannot be looked up in all namespaces; give one with -n');
  return names.map((name) => ({ namespace: kind.namespaced ? session.namespace : undefined, name }));
}

async function orNothing<T>(found: Promise<T>, flags: GetFlags): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (flags.ignoreNotFound && isNotFound(error)) return undefined;
    throw error;
  }
}

/** Shows the objects and then every change, one row each, until interrupted. A stream that ends in order is resumed. */
async function watchTable(session: Session, wanted: readonly ResourceArgument[], flags: GetFlags): Promise<void> {
  const [only] = wanted;
  if (!only || wanted.length > 1 || only.names.length > 1) throw badRequest('--watch shows one resource type, or one object');
  if (flags.output && flags.output !== 'wide') throw badRequest(`--watch prints tables; -o ${flags.output} does not go with it`);
  const { kind, names } = only;
  const nameSelector = names[0] === undefined ? undefined : `metadata.name=${names[0]}`;
  const scope = { ...scopeOf(session, kind, flags), ...(nameSelector ? { fieldSelector: nameSelector } : {}) };
  const signal = interruptSignal();
  let columns: readonly TableColumn[] = [];
  let print: ((rows: readonly TableRow[]) => string) | undefined;
  for await (const table of followTable(session.client.objects, kind, { ...scope, initial: !flags.watchOnly }, signal)) {
    if (table.columns?.length) columns = table.columns;
    if (columns.length > 0) print ??= tablePrinter(columns, kind, false, flags);
    const rows = table.rows ?? [];
    if (print && rows.length > 0) process.stdout.write(print(orderRows(kind, columns, rows)));
  }
}
