import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import type { JsonObject } from '../../client/index.ts';
import { describeGeneric } from '../describe/generic.ts';
import { list, type Tree, text } from '../describe/json.ts';
import { age, createLines } from '../describe/lines.ts';
import { describeMetadata } from '../describe/metadata.ts';
import { describeNode } from '../describe/node.ts';
import { describePod } from '../describe/pod.ts';
import { parseResourceArguments } from '../resource-args.ts';
import { type Session, withSession } from '../session.ts';

interface DescribeFlags {
  readonly selector?: string;
}

export function registerDescribe(program: Command): void {
  program
    .command('describe')
    .description('Show everything about objects, with what happened to them')
    .argument('<type...>', 'TYPE [NAME...] or TYPE/NAME...')
    .option('-l, --selector <selector>', 'those with these labels')
    .action(async (words: string[], flags: DescribeFlags, command: Command) => {
      await withSession(command, async (session) => {
        const parts: string[] = [];
        for (const { kind, names } of parseResourceArguments(words)) {
          for (const object of await readObjects(session, kind, names, flags))
            parts.push(await describeObject(session, kind, object));
        }
        process.stdout.write(parts.length === 0 ? '' : parts.join('\n\n'));
        if (parts.length === 0) process.stderr.write('No resources found.\n');
      });
    });
}

async function readObjects(session: Session, kind: Kind, names: readonly string[], flags: DescribeFlags): Promise<JsonObject[]> {
  const { objects } = session.client;
  const namespace = kind.namespaced ? session.namespace : undefined;
  if (names.length === 0) return (await objects.list(kind.kind, { namespace, labelSelector: flags.selector, limit: 500 })).items;
  if (flags.selector) throw badRequest('names and selectors cannot be given together');
  return await Promise.all(names.map((name) => objects.get(kind.kind, { namespace, name })));
}

async function describeObject(session: Session, kind: Kind, object: Tree): Promise<string> {
  const lines = createLines();
  describeMetadata(object, lines);
  if (kind.kind === 'Pod') describePod(object, lines);
  else if (kind.kind === 'Node') describeNode(object, await podsOf(session, text(object, 'metadata', 'name')), lines);
  else describeGeneric(object, lines);
  if (kind.kind !== 'Event') await describeEvents(session, object, lines);
  return lines.text();
}

async function podsOf(session: Session, nodeName: string): Promise<JsonObject[]> {
  return (await session.client.objects.list('Pod', { fieldSelector: `spec.nodeName=${nodeName}`, limit: 500 })).items;
}

async function describeEvents(session: Session, object: Tree, lines: ReturnType<typeof createLines>): Promise<void> {
  const fieldSelector = `involvedObject.uid=${text(object, 'metadata', 'uid')}`;
  const { items } = await session.client.objects.list('Event', { fieldSelector, limit: 500 });
  const now = new Date();
  const timeOf = (event: Tree): string =>
    text(event, 'lastTimestamp') || text(event, 'eventTime') || text(event, 'metadata', 'creationTimestamp');
  lines.table(
    'Events',
    ['Type', 'Reason', 'Age', 'From', 'Message'],
    list(items)
      .toSorted((a, b) => timeOf(a).localeCompare(timeOf(b)))
      .map((event) => {
        const count = Number(text(event, 'count') || '1');
        const since = count > 1 ? ` (x${count} over ${age(text(event, 'firstTimestamp'), now)})` : '';
        const from = text(event, 'source', 'component') || text(event, 'reportingComponent');
        return [text(event, 'type'), text(event, 'reason'), `${age(timeOf(event), now)}${since}`, from, text(event, 'message')];
      }),
  );
}
