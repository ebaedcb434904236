import { isConflict, isNotFound, notFound } from '../../api/errors/index.ts';
import type { ContainerStatus, Pod } from '../../api/generated/types.ts';
import { kindNamed } from '../../api/kinds/index.ts';
import { findCondition } from '../../api/meta/conditions.ts';
import type { Client } from '../../client/index.ts';
import { chooseContainer } from '../args/pod-container.ts';
import { ExitWith } from '../program/failure.ts';
import { attachFromStart } from '../terminal/attach-from-start.ts';
import { attachTerminal } from '../terminal/attach-terminal.ts';
import { timeoutSignal, waitForObject } from '../wait/wait.ts';
import { type RunCommandFlags, runningTimeout } from './run-flags.ts';

interface Key {
  readonly namespace: string;
  readonly name: string;
}

// The fields of a pod that are read here have the same names and values in its JSON and in its message.
type AttachedFlags = Pick<RunCommandFlags, 'stdin' | 'tty' | 'quiet' | 'rm' | 'leaveStdinOpen' | 'podRunningTimeout'>;

const podKind = kindNamed('Pod');

/**
 * Creates a pod, joins its container until that ends, and with --rm deletes the pod whatever happens, a signal
 * included. As with kubectl, a container that fails and is not restarted gives the command its exit code. Throws
 * ApiError, ExitWith.
 */
export async function runAttached(client: Client, create: () => Promise<Pod>, flags: AttachedFlags): Promise<void> {
  runningTimeout(flags);
  if (!flags.rm) return await joinPod(client, await create(), flags, new AbortController().signal);
  const interruption = listenForSignals();
  try {
    const pod = await create();
    try {
      await interruption.orEnd(joinPod(client, pod, flags, interruption.signal));
    } finally {
      await remove(client, pod, flags);
    }
  } finally {
    interruption.stop();
  }
  // The terminal may have ended well because of the signal.
  interruption.check();
}

interface Interruption {
  /** Aborts with the first signal. The second one ends this program as usual. */
  readonly signal: AbortSignal;
  /** Settles as the work does, but throws ExitWith at once when a signal comes. */
  orEnd(work: Promise<void>): Promise<void>;
  /** Throws ExitWith after a signal. */
  check(): void;
  stop(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function listenForSignals(): Interruption {
  const controller = new AbortController();
  const { signal } = controller;
  let endedBy = 0;
  const end = (_: NodeJS.Signals, number: number): void => {
    endedBy = number;
    stop();
    controller.abort();
  };
  const stop = (): void => {
    for (const name of signals) process.off(name, end);
  };
  for (const name of signals) process.once(name, end);
  const check = (): void => {
    if (signal.aborted) throw new ExitWith(128 + endedBy, '');
  };
  return {
    signal,
    check,
    stop,
    async orEnd(work) {
      // Work that is left behind fails: at the signal, or when the connection is closed.
      work.catch(() => undefined);
      check();
      const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      await Promise.race([work, ended]);
      check();
    },
  };
}

async function joinPod(client: Client, pod: Pod, flags: AttachedFlags, signal: AbortSignal): Promise<void> {
  const key = keyOf(pod);
  const { container } = chooseContainer(pod, undefined);
  const timeout = flags.podRunningTimeout;
  const { quiet = false, rm = false, leaveStdinOpen = false } = flags;
  const status = await waitForContainer(client, { ...key, container }, { timeout, quiet, signal });
  const terminal = attachTerminal(pod, container, flags);
  if (status.state?.running !== undefined && terminal.stdin && terminal.tty && !quiet)
    process.stderr.write("If you don't see a command prompt, try pressing enter.\n");
  await attachFromStart(client, { ...key, container }, terminal);
  const policy = pod.spec?.restartPolicy ?? 'Always';
  if (policy !== 'Always' && !leaveStdinOpen) return await checkEnd(client, key, { container, timeout, policy, signal });
  if (policy === 'Always' && terminal.tty && !quiet && !rm)
    process.stderr.write(
      `Session ended, resume using 'berth attach ${key.name} -c ${container} -i -t' command when the pod is running\n`,
    );
}

/** Waits until the container runs or has run, and says why it takes long. */
async function waitForContainer(
  client: Client,
  { container, ...key }: Key & { readonly container: string },
  { timeout, quiet, signal }: { readonly timeout: string; readonly quiet: boolean; readonly signal: AbortSignal },
): Promise<ContainerStatus> {
  let told = '';
  let started: ContainerStatus | undefined;
  const isStarted = (pod: Pod): boolean => {
    const { phase = '', reason = phase, message } = pod.status ?? {};
    const status = statusOf(pod, container);
    if (status?.state?.running ?? status?.state?.terminated ?? status?.lastState?.terminated) started = status;
    if (started !== undefined) return true;
    if (phase === 'Succeeded' || phase === 'Failed')
      throw new ExitWith(
        1,
        `pod ${key.namespace}/${key.name} ended before its container ran (${reason}${message ? `: ${message}` : ''})`,
      );
    const why = whyWaiting(pod, status);
    if (why !== '' && why !== told && !quiet) process.stderr.write(`Warning: ${why}\n`);
    if (why !== '') told = why;
    return false;
  };
  await waitForPod(client, key, isStarted, signal, {
    timeout,
    text: () => `timed out after ${timeout} waiting for pod ${key.namespace}/${key.name} to run${told && `: ${told}`}`,
  });
  return started ?? {};
}

/** What the node or the scheduler says of a pod that does not run yet. */
function whyWaiting({ status: pod }: Pod, status: ContainerStatus | undefined): string {
  const { message } = status?.state?.waiting ?? {};
  if (message) return `container ${status?.name}: ${message}`;
  const scheduled = findCondition(pod?.conditions, 'PodScheduled');
  return scheduled?.status === 'False' ? (scheduled.message ?? '') : '';
}

/** Throws ExitWith with the container's exit code when the pod has failed. */
async function checkEnd(
  client: Client,
  key: Key,
  { container, timeout, policy, signal }: { container: string; timeout: string; policy: string; signal: AbortSignal },
): Promise<void> {
  // Where failures are restarted only success is an end.
  const isEnd = ({ status: { phase } = {} }: Pod): boolean => phase === 'Succeeded' || (phase === 'Failed' && policy === 'Never');
  const pod = await waitForPod(client, key, isEnd, signal, {
    timeout,
    text: () => `timed out after ${timeout} waiting for pod ${key.namespace}/${key.name} to end`,
  });
  if (pod.status?.phase === 'Succeeded') return;
  const { exitCode = 0, reason = '', message = '' } = statusOf(pod, container)?.state?.terminated ?? {};
  if (exitCode === 0) throw new ExitWith(1, `pod ${key.namespace}/${key.name} failed with unknown exit code`);
  throw new ExitWith(exitCode, `pod ${key.namespace}/${key.name} terminated (${reason})${message && `\n${message}`}`);
}

/** Waits until the pod is as wanted. Throws ExitWith when time is over, NOT_FOUND when the pod is deleted meanwhile. */
async function waitForPod(
  client: Client,
  key: Key,
  isWanted: (pod: Pod) => boolean,
  signal: AbortSignal,
  late: { readonly timeout: string; text(): string },
): Promise<Pod> {
  const until = AbortSignal.any([signal, timeoutSignal(runningTimeout({ podRunningTimeout: late.timeout }))]);
  let last: Pod = {};
  const isSo = (object: object | undefined): boolean => {
    if (object === undefined) throw notFound({ kind: 'Pod', ...key });
    last = object as Pod;
    return isWanted(last);
  };
  const { met } = await waitForObject(client.objects, { kind: podKind, key }, isSo, until);
  if (!met) throw new ExitWith(1, signal.aborted ? '' : late.text());
  return last;
}

/** Deletes the pod that was created; another one of its name is another. */
async function remove({ pods }: Client, pod: Pod, { quiet = false }: AttachedFlags): Promise<void> {
  const key = keyOf(pod);
  try {
    await pods.delete(key, { preconditions: { uid: pod.metadata?.uid ?? '' } });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
    return;
  }
  if (!quiet) process.stdout.write(`pod "${key.name}" deleted\n`);
}

function keyOf({ metadata }: Pod): Key {
  return { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' };
}

function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  return (status?.containerStatuses ?? []).find((each) => each.name === name);
}
