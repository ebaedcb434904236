import { type Command, InvalidArgumentError, Option } from 'commander';
import { badRequest, isNotFound, isPermissionDenied, isUnimplemented } from '../../api/errors/index.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kinds/kind.ts';
import { serviceLabels } from '../../api/meta/service-names.ts';
import { parseResourceArguments } from '../args/resource-args.ts';
import { describeFailure } from '../program/failure.ts';
import { type Session, withSession } from '../session.ts';

interface WhyFlags {
  readonly all?: boolean;
  readonly output?: string;
  readonly last?: number | true;
  readonly scheduler?: string;
}

export function registerWhy(program: Command): void {
  program
    .command('why')
    .description(
      'Show why a workload is not up, a service has no endpoints, a pod is on its node or pending, or the last placements',
    )
    .usage('pod/NAME | TYPE/NAME | --last')
    .argument(
      '[type...]',
      'pod/NAME, or service, deployment, replicaset, statefulset, daemonset, job, cronjob or hpa with its name',
    )
    .option('--all', 'every node (at most 10,000), not only the first 20 of each kind; of workloads every pod')
    .option('--last [n]', 'instead: the last n placements (20)', parseCount)
    .option('--scheduler <name>', 'with --last: only the placements of this scheduler')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['json']))
    .action(async (words: string[], flags: WhyFlags, command: Command) => {
      if (flags.scheduler !== undefined && !flags.last)
        throw badRequest('--scheduler chooses among placements: give --last as well');
      await withSession(command, (session) => (flags.last ? showLast(session, words, flags) : showWhy(session, words, flags)));
    });
}

/** As many as the scheduler tells of. */
const mostNodes = 10_000;

function parseCount(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('give a whole number from 1 on');
  return Number(text);
}

async function showWhy(session: Session, words: readonly string[], flags: WhyFlags): Promise<void> {
  const [word] = words;
  const isName = words.length === 1 && !word?.includes('/');
  const [only, ...others] = words.length === 0 ? [] : parseResourceArguments(isName ? ['pod', word!] : words);
  const name = only?.names[0];
  if (!only || !name || others.length > 0 || only.names.length > 1)
    throw badRequest(
      'name one pod, service or workload, e.g. berth why deployment/web; or ask for the last placements with --last',
    );
  if (only.kind.kind === 'Pod') {
    await showPod(session, name, flags).catch((error: unknown) => {
      if (!isName || !isNotFound(error)) throw error;
      throw badRequest(`${describeFailure(error)}; name other objects as TYPE/NAME: "berth why deployment/${name}"`);
    });
  } else if (only.kind.kind === 'Service') await showService(session, name, flags);
  else await showWorkload(session, only.kind, name, flags);
}

/** Why a workload is not up, or that it is. */
async function showWorkload(session: Session, kind: Kind, name: string, { all, output }: WhyFlags): Promise<void> {
  const [{ explainedKinds, readWorkloadFacts }, { answerOf }, { answerText }] = await Promise.all([
    import('../why/read-workload.ts'),
    import('../why/workload-answer.ts'),
    import('../why/workload-report.ts'),
  ]);
  if (!explainedKinds.includes(kind.kind))
    throw badRequest(
      `"berth why" explains pods, services and ${explainedKinds.map((each) => `${each.toLowerCase()}s`).join(', ')}, not a ${kind.singular}; ` +
        `"berth describe ${kind.singular} ${name}" shows its conditions and events`,
    );
  const answer = answerOf(await readWorkloadFacts(session, kind, { namespace: session.namespace, name }, Date.now()));
  process.stdout.write(output === 'json' ? `${JSON.stringify(answer, undefined, 2)}\n` : answerText(answer, { all }));
}

/** Whether a service has endpoints, and why not. */
async function showService({ client, namespace }: Session, name: string, { all, output }: WhyFlags): Promise<void> {
  const [{ answerOfService }, { answerText }, { listAll }, { toJson }, { kindNamed }] = await Promise.all([
    import('../why/service-answer.ts'),
    import('../why/workload-report.ts'),
    import('../../client/index.ts'),
    import('../../api/codec/json.ts'),
    import('../../api/kinds/index.ts'),
  ]);
  // What only says more: a user who may not read it, or a server that has none, gets the rest of the answer.
  const orNone = async <T>(list: Promise<{ readonly items: readonly T[] }>): Promise<readonly T[]> => {
    try {
      return (await list).items;
    } catch (error) {
      if (isPermissionDenied(error) || isUnimplemented(error)) return [];
      throw error;
    }
  };
  const [service, { items }, slices, policies] = await Promise.all([
    client.services.get({ namespace, name }),
    listAll(client.pods, { namespace }),
    orNone(listAll(client.endpointSlices, { namespace, labelSelector: `${serviceLabels.serviceName}=${name}` })),
    orNone(listAll(client.networkPolicies, { namespace })),
  ]);
  const trees = items.map((pod) => toJson(kindNamed('Pod'), pod));
  const answer = answerOfService({ service, pods: items, trees, slices, policies, now: Date.now() });
  process.stdout.write(output === 'json' ? `${JSON.stringify(answer, undefined, 2)}\n` : answerText(answer, { all }));
}

async function showPod({ client, namespace }: Session, name: string, { all, output }: WhyFlags): Promise<void> {
  const key = { namespace, name };
  const explained = await client.placements.why({ ...key, nodeLimit: all ? mostNodes : 0 });
  const { jsonText, whyReport } = await import('../why/report.ts');
  if (output === 'json') {
    process.stdout.write(jsonText('Explanation', explained));
    return;
  }
  const nowMs = Date.now();
  const { readPod, workloadOf, controlledBy } = await import('../why/pod-workload.ts');
  const pod = await readPod(client, key);
  const trouble = pod && explained.nodeName ? await podTrouble(pod, name, nowMs) : '';
  const workload = pod && (await workloadOf(client, pod));
  const note = workload === undefined ? '' : `\nIt is ${controlledBy(workload)}.\n`;
  process.stdout.write(trouble + whyReport(explained, { nowMs, all }) + note);
}

/** Why a pod that has a node is not up, as a paragraph; empty where it is, or is about to be. */
async function podTrouble(pod: Pod, name: string, nowMs: number): Promise<string> {
  const [{ troubleOf }, { toJson }, { kindNamed }] = await Promise.all([
    import('../workload/troubles.ts'),
    import('../../api/codec/json.ts'),
    import('../../api/kinds/index.ts'),
  ]);
  const trouble = troubleOf(toJson(kindNamed('Pod'), pod), nowMs);
  if (trouble === undefined || trouble.type === 'starting') return '';
  return `pod/${name} is not up: 1 pod ${trouble.what}\n"berth describe pod ${name}" and "berth logs ${name}" say more.\n\n`;
}

async function showLast({ client }: Session, words: readonly string[], { last, scheduler, output }: WhyFlags): Promise<void> {
  if (words.length > 0) throw badRequest('--last shows placements of all pods; leave the pod out');
  const limit = typeof last === 'number' ? last : 20;
  const { items = [] } = await client.placements.list({ schedulerName: scheduler ?? '', limit });
  const { jsonText, placementTable } = await import('../why/report.ts');
  process.stdout.write(output === 'json' ? jsonText('PlacementList', { items }) : placementTable(items, Date.now()));
}
