import type { Command } from 'commander';
import { badRequest, isNotFound } from '../../api/errors/index.ts';
import type { ApiObject, Kind } from '../../api/kinds/kind.ts';
import type { ObjectKey } from '../../client/index.ts';
import { describeFailure, ExitWith } from '../failure.ts';
import { readManifests } from '../manifests.ts';
import { parseResourceArguments } from '../resource-args.ts';
import { interruptSignal, type Session, withSession } from '../session.ts';

interface DeleteFlags {
  readonly filename?: string[];
  readonly selector?: string;
  readonly all?: boolean;
  readonly allNamespaces?: boolean;
  readonly gracePeriod?: string;
  readonly force?: boolean;
  readonly now?: boolean;
  readonly ignoreNotFound?: boolean;
  readonly wait: boolean;
}

interface Target {
  readonly kind: Kind;
  readonly key: ObjectKey;
}

export function registerDelete(program: Command): void {
  program
    .command('delete')
    .description('Delete objects and wait until they are gone')
    .argument('[type...]', 'TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all')
    .option('-f, --filename <path...>', 'delete what these manifests name')
    .option('-l, --selector <selector>', 'those with these labels')
    .option('--all', 'all of the type in the namespace')
    .option('-A, --all-namespaces', 'with -l or --all: in all namespaces')
    .option('--grace-period <seconds>', 'how long a pod may take to end')
    .option('--now', 'a grace period of one second')
    .option('--force', 'do not wait for the node: with --grace-period=0 the object is removed at once')
    .option('--ignore-not-found', 'an object that does not exist is fine')
    .option('--no-wait', 'return when the deletion is accepted')
    .action(async (words: string[], flags: DeleteFlags, command: Command) => {
      const grace = gracePeriodOf(flags);
      await withSession(command, async (session) => {
        const targets = flags.filename ? manifestTargets(session, flags.filename) : await namedTargets(session, words, flags);
        await deleteAll(session, targets, grace, flags);
      });
    });
}

function gracePeriodOf(flags: DeleteFlags): number | undefined {
  if (flags.now) return 1;
  if (flags.gracePeriod === undefined) return flags.force ? 0 : undefined;
  const seconds = Number(flags.gracePeriod);
  if (!Number.isInteger(seconds) || seconds < 0)
    throw badRequest(`--grace-period takes a whole number of seconds, not "${flags.gracePeriod}"`);
  if (seconds === 0 && !flags.force)
    throw badRequest(
      '--grace-period=0 removes the object before its containers have ended; add --force to say that you want that',
    );
  return seconds;
}

function manifestTargets(session: Session, files: readonly string[]): Target[] {
  return readManifests(files).map((document) => {
    if ('error' in document) throw document.error;
    const { kind, object } = document;
    return {
      kind,
      key: {
        name: object.metadata?.name ?? '',
        namespace: kind.namespaced ? (object.metadata?.namespace ?? session.namespace) : undefined,
      },
    };
  });
}

async function namedTargets(session: Session, words: readonly string[], flags: DeleteFlags): Promise<Target[]> {
  const targets: Target[] = [];
  for (const { kind, names } of parseResourceArguments(words)) {
    const namespace = kind.namespaced ? session.namespace : undefined;
    if (names.length > 0) {
      targets.push(...names.map((name) => ({ kind, key: { namespace, name } })));
      continue;
    }
    if (!flags.all && !flags.selector) throw badRequest(`name the ${kind.plural} to delete, or give -l or --all`);
    const scope = { namespace: flags.allNamespaces ? undefined : namespace, labelSelector: flags.selector };
    const { listAll } = await import('../../client/index.ts');
    const { items } = await listAll(session.client.resource(kind), scope);
    targets.push(
      ...items.map((item: ApiObject) => ({
        kind,
        key: { name: item.metadata?.name ?? '', namespace: item.metadata?.namespace },
      })),
    );
  }
  return targets;
}

/** Asks for all deletions first and waits afterwards, so that many pods end side by side. */
async function deleteAll(
  session: Session,
  targets: readonly Target[],
  grace: number | undefined,
  flags: DeleteFlags,
): Promise<void> {
  let failed = 0;
  const accepted: { target: Target; uid: string }[] = [];
  for (const target of targets) {
    try {
      const { kind, key } = target;
      const last = await session.client.resource(kind).delete(key, grace === undefined ? {} : { gracePeriodSeconds: grace });
      process.stdout.write(`${kind.singular} "${key.name}" ${grace === 0 ? 'force deleted' : 'deleted'}\n`);
      accepted.push({ target, uid: last.metadata?.uid ?? '' });
    } catch (error) {
      if (flags.ignoreNotFound && isNotFound(error)) continue;
      failed++;
      process.stderr.write(`error: ${describeFailure(error)}\n`);
    }
  }
  if (targets.length === 0) process.stderr.write('No resources found.\n');
  if (flags.wait) await Promise.all(accepted.map(({ target, uid }) => waitUntilGone(session, target, uid)));
  if (failed > 0) throw new ExitWith(1);
}

async function waitUntilGone(session: Session, { kind, key }: Target, uid: string): Promise<void> {
  const { waitForObject } = await import('../wait.ts');
  await waitForObject(
    session.client.resource(kind),
    key,
    (object) => object === undefined || object.metadata?.uid !== uid,
    interruptSignal(),
  );
}
