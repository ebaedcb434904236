import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { ApiObject } from '../../api/kinds/kind.ts';
import type { ResourceClient, Scope } from '../../client/index.ts';
import { plainTable } from '../printers/plain-table.ts';
import { ExitWith } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';
import { checkHistoryFlags, showHistory } from '../top/show-history.ts';
import type { SortColumn, TopTable } from '../top/usage.ts';

interface TopFlags {
  readonly selector?: string;
  readonly sortBy?: SortColumn;
  readonly headers: boolean;
  readonly history?: boolean;
  readonly output?: string;
}

interface TopNodesFlags extends TopFlags {
  readonly showCapacity?: boolean;
}

interface TopPodsFlags extends TopFlags {
  readonly allNamespaces?: boolean;
  readonly containers?: boolean;
}

/** What nodes and pods use, from the figures that their agents report. */
export function registerTop(program: Command): void {
  const top = program.command('top').description('Show the CPU and memory usage of nodes or pods');
  const figures = (command: Command): Command =>
    command
      .argument('[name]', 'only this one')
      .option('-l, --selector <selector>', 'those with these labels')
      .addOption(new Option('--sort-by <column>', 'the largest first').choices(['cpu', 'memory']))
      .option('--no-headers', 'without headings')
      .option('--history', 'plots of the last hour of one of them')
      .option('-o, --output <format>', 'with --history: json');
  figures(top.command('nodes').aliases(['node', 'no']))
    .description('Show what nodes use, and how much that is of what pods may have')
    .option('--show-capacity', 'percentages of all that the machine has')
    .action(async (name: string | undefined, flags: TopNodesFlags, command: Command) => {
      await withSession(command, (session) => topNodes(session, name, flags));
    });
  figures(top.command('pods').aliases(['pod', 'po']))
    .description('Show what pods use; memory is the working set')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('--containers', 'a row for each container')
    .action(async (name: string | undefined, flags: TopPodsFlags, command: Command) => {
      await withSession(command, (session) => topPods(session, name, flags));
    });
}

async function topNodes({ client }: Session, name: string | undefined, flags: TopNodesFlags): Promise<void> {
  checkHistoryFlags(name, flags.history, flags);
  if (flags.history) return showHistory(await client.usageHistories.ofNode(name ?? ''), flags);
  const { computeTopNodes } = await import('../top/top-nodes.ts');
  const nodes = await readAll(client.nodes, name, flags, {});
  if (nodes.length === 0) return noResources('');
  const metrics = await readAll(client.nodeMetrics, undefined, {}, {});
  print(computeTopNodes(nodes, metrics, { ...flags, nowMs: Date.now() }), flags);
}

async function topPods({ client, namespace: own }: Session, name: string | undefined, flags: TopPodsFlags): Promise<void> {
  const { computeTopPods } = await import('../top/top-pods.ts');
  if (name !== undefined && flags.allNamespaces)
    throw badRequest('a name cannot be looked up in all namespaces; give one with -n');
  checkHistoryFlags(name, flags.history, flags);
  if (flags.history) return showHistory(await client.usageHistories.ofPod(own, name ?? ''), flags);
  const namespace = flags.allNamespaces ? undefined : own;
  const pods = await readAll(client.pods, name, flags, { namespace });
  if (pods.length === 0) return noResources(namespace === undefined ? '' : ` in ${namespace} namespace`);
  const metrics = await readAll(client.nodeMetrics, undefined, {}, {});
  const table = computeTopPods(pods, metrics, { ...flags, showNamespace: flags.allNamespaces, nowMs: Date.now() });
  if (table.rows.length > 0) return print(table, flags);
  const [why = `no container runs${whereOf(name, namespace)}`] = table.warnings;
  throw new ExitWith(1, `metrics not available yet: ${why}`);
}

function whereOf(pod: string | undefined, namespace: string | undefined): string {
  if (pod !== undefined) return ` in pod "${pod}"`;
  return namespace === undefined ? '' : ` in ${namespace} namespace`;
}

/** One object by its name, or all that the selector chooses. */
async function readAll<T extends ApiObject>(
  client: ResourceClient<T>,
  name: string | undefined,
  { selector }: Pick<TopFlags, 'selector'>,
  scope: Scope,
): Promise<T[]> {
  if (name !== undefined && selector !== undefined) throw badRequest('names and selectors cannot be given together');
  if (name !== undefined) return [await client.get({ namespace: scope.namespace, name })];
  const { listAll } = await import('../../client/index.ts');
  return (await listAll(client, { ...scope, labelSelector: selector })).items;
}

function print({ headings, rows, warnings }: TopTable, { headers }: TopFlags): void {
  process.stdout.write(plainTable(headers ? headings : undefined, rows));
  for (const warning of warnings) process.stderr.write(`Warning: ${warning}\n`);
}

function noResources(place: string): void {
  process.stderr.write(`No resources found${place}.\n`);
}
