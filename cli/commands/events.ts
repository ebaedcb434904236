import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { Table, TableColumn } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import type { Scope } from '../../client/index.ts';
import { type ChunkSizeFlags, withChunkSizeFlag } from '../args/chunk-size.ts';
import { parseResourceArguments } from '../args/resource-args.ts';
import { eventColumns, eventRows } from '../events/event-rows.ts';
import { compareEvents } from '../events/event-times.ts';
import { followTable } from '../get/follow.ts';
import { listAllJson, listAllRows } from '../get/listing.ts';
import type { OutputFlags } from '../printers/formats.ts';
import type { ObjectOutput } from '../printers/output.ts';
import { readObjectOutput, withOutputFlags } from '../printers/output-flags.ts';
import { orderRows } from '../printers/row-order.ts';
import { createTablePrinter } from '../printers/table.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';

interface EventsFlags extends OutputFlags, ChunkSizeFlags {
  readonly allNamespaces?: boolean;
  readonly for?: string;
  readonly types?: string;
  readonly watch?: boolean;
  readonly headers: boolean;
}

const events = kindNamed('Event');

export function registerEvents(program: Command): void {
  const command = program
    .command('events')
    .description('Show events, oldest first')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('--for <object>', 'only to this object, e.g. pod/web')
    .option('--types <types>', 'only these types: Normal, Warning')
    .option('-w, --watch', 'watch for new events')
    .option('--no-headers', 'without headings')
    .action(async (flags: EventsFlags, command: Command) => {
      const output = await readObjectOutput(flags);
      await withSession(command, (session) => showEvents(session, flags, output));
    });
  withOutputFlags(withChunkSizeFlag(command), 'how to print: ');
}

async function showEvents(session: Session, flags: EventsFlags, output: ObjectOutput | undefined): Promise<void> {
  const types = parseTypes(flags.types ?? '');
  if (flags.watch && output) throw badRequest(`--watch prints lines; -o ${output.format} does not go with it`);
  const about = flags.for === undefined ? undefined : parseObject(flags.for);
  // Events about what has no namespace are kept in `default`: they are looked for in all namespaces.
  const everywhere = flags.allNamespaces === true || (about?.namespaced === false && !session.namespaceGiven);
  const scope = { namespace: everywhere ? undefined : session.namespace, fieldSelector: about?.fieldSelector };
  if (output !== undefined) return await printWhole(session, scope, types, { ...flags, output });
  const show = createPrinter(types, flags);
  let printed = 0;
  for await (const table of readTables(session, scope, flags)) {
    const { text, rows } = show(table);
    process.stdout.write(text);
    printed += rows;
  }
  if (printed === 0 && !flags.watch)
    process.stderr.write(`No events found${everywhere ? '' : ` in ${session.namespace} namespace`}.\n`);
}

function parseTypes(text: string): string[] {
  const types = text.split(',').filter(Boolean);
  const wrong = types.find((type) => !/^(normal|warning)$/i.test(type));
  if (wrong !== undefined) throw badRequest(`--types takes Normal and Warning, not "${wrong}"`);
  return types;
}

/** Which events are about this object. */
function parseObject(word: string): { readonly fieldSelector: string; readonly namespaced: boolean } {
  const [only, more] = parseResourceArguments([word]);
  const [name] = only?.names ?? [];
  if (!only || more || name === undefined) throw badRequest(`--for names one object, e.g. pod/web, not "${word}"`);
  const { kind, namespaced } = only.kind;
  return { fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name}`, namespaced };
}

/** What there is, and with --watch what comes until the person has seen enough. */
async function* readTables(session: Session, scope: Scope, flags: EventsFlags): AsyncIterable<Table> {
  const { objects } = session.client;
  if (!flags.watch) yield await listAllRows(objects, events, scope, flags);
  else yield* followTable(objects, events, { ...scope, initial: true, deleted: false }, interruptSignal());
}

/** Columns stand in the first table only; widths grow from table to table. */
function createPrinter(types: readonly string[], flags: EventsFlags) {
  const print = createTablePrinter(eventColumns, {
    wide: false,
    headers: flags.headers,
    showLabels: false,
    showNamespace: flags.allNamespaces === true,
    namePrefix: '',
    now: () => new Date(),
  });
  let columns: readonly TableColumn[] = [];
  return (table: Table): { readonly text: string; readonly rows: number } => {
    if (table.columns?.length) columns = table.columns;
    const rows = eventRows(columns, orderRows(events, columns, table.rows ?? []), { types, nowMs: Date.now() });
    return { text: rows.length === 0 ? '' : print(rows), rows: rows.length };
  };
}

async function printWhole(
  session: Session,
  scope: Scope,
  types: readonly string[],
  { output, ...flags }: Omit<EventsFlags, 'output'> & { readonly output: ObjectOutput },
): Promise<void> {
  const wanted = new Set(types.map((type) => type.toLowerCase()));
  const all = await listAllJson(session.client.objects, events, scope, flags);
  const shown = all.filter((event) => wanted.size === 0 || wanted.has(String(event.type).toLowerCase())).toSorted(compareEvents);
  const { printObjects } = await import('../printers/objects.ts');
  process.stdout.write(printObjects(shown, output, { single: false, headers: flags.headers }));
}
