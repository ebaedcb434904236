import { badRequest, notFound } from '../../api/errors/index.ts';
import { type Tree, text } from '../describe/json.ts';
import { type Target, targetText } from '../get/targets.ts';
import { describeFailure, ExitWith } from '../program/failure.ts';
import { interruptSignal, type Session } from '../session.ts';
import { timeoutSignal, waitForObject } from '../wait/wait.ts';
import { readTroubles } from '../workload/read-troubles.ts';
import { TroubleWatch } from '../workload/trouble-watch.ts';
import { RolloutStuck, rolloutStatus } from './rollout-status.ts';
import { createSentences } from './sentences.ts';

export interface StatusOptions {
  readonly revision: number;
  /** Until it is done; else only as it stands. */
  readonly watch: boolean;
  /** 0: without a bound. */
  readonly timeoutMs: number;
}

/**
 * Tells how rollouts go on, one after the other, until they are done; on a terminal in one line that changes. Says what
 * is wrong with pods meanwhile, and once more when the rollout fails. Throws ExitWith when one has failed.
 */
export async function watchStatus(session: Session, targets: readonly Target[], options: StatusOptions): Promise<void> {
  const interrupted = interruptSignal();
  const signal = options.timeoutMs > 0 ? AbortSignal.any([interrupted, timeoutSignal(options.timeoutMs)]) : interrupted;
  let failed = 0;
  for (const target of targets) {
    try {
      await watchOne(session, target, options, { signal, interrupted });
      if (interrupted.aborted) throw new ExitWith(130);
    } catch (error) {
      if (error instanceof ExitWith && interrupted.aborted) throw error;
      failed++;
      process.stderr.write(`error: ${describeFailure(error)}\n`);
    }
  }
  if (failed > 0) throw new ExitWith(1);
}

interface Signals {
  /** Ends the wait: interrupted, or out of time. */
  readonly signal: AbortSignal;
  readonly interrupted: AbortSignal;
}

async function watchOne(
  session: Session,
  target: Target,
  options: StatusOptions,
  { signal, interrupted }: Signals,
): Promise<void> {
  const { objects } = session.client;
  const sentences = createSentences();
  const read = () => readTroubles(objects, target, Date.now);
  const ended = new AbortController();
  const watch = new TroubleWatch({ read, tell: (line) => sentences.warn(line) });
  if (options.watch) void watch.run(ended.signal);
  let uid: string | undefined;
  const isWanted = (object: Tree | undefined): boolean => {
    uid = checkSame(target, object, uid);
    const status = rolloutStatus(target.kind.kind, object!, options.revision);
    sentences.show(status);
    return status.done || !options.watch;
  };
  try {
    const { met } = await waitForObject(objects, target, isWanted, signal);
    if (!met && !interrupted.aborted) throw new RolloutStuck(`timed out waiting for the condition on ${targetText(target)}`);
  } catch (error) {
    if (!(error instanceof RolloutStuck)) throw error;
    throw new ExitWith(1, [error.message, ...(await reasons(target, read))].join('\n'));
  } finally {
    ended.abort();
    sentences.end();
  }
}

/** The object's uid. Another object of the same name is another rollout. */
function checkSame({ kind, key }: Target, object: Tree | undefined, before: string | undefined): string {
  const uid = text(object, 'metadata', 'uid');
  if (object !== undefined && (before === undefined || before === uid)) return uid;
  throw before === undefined ? notFound({ kind: kind.kind, ...key }) : badRequest('object has been deleted');
}

async function reasons({ kind, key }: Target, read: () => Promise<readonly { readonly line: string }[]>): Promise<string[]> {
  const lines = (await read()).map(({ line }) => `  ${line}`);
  return [...lines, `  "berth why ${kind.singular}/${key.name}" says more`];
}
