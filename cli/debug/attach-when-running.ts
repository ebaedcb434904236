import { badRequest } from '../../api/errors/index.ts';
import type { ContainerStatus, Pod, PodLogOptions } from '../../api/generated/types.ts';
import { pause } from '../../client/clock.ts';
import type { Client } from '../../client/index.ts';
import { writeAll } from '../logs/log-output.ts';
import { joinTerminal, type TerminalOptions } from '../terminal.ts';
import { collectLog, wholeOutput } from './whole-output.ts';

interface Attached {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly terminal: TerminalOptions;
  readonly quiet: boolean;
}

const lookEveryMs = 200;

/** Joins a container as soon as it runs; of one that has ended by then it shows what it wrote. Throws ApiError. */
export async function attachWhenRunning({ pods }: Client, { container, terminal, quiet, ...key }: Attached): Promise<void> {
  const { stdin, tty } = terminal;
  const status = await started({ pods }, { container, ...key });
  if (status.state?.running === undefined) {
    for await (const data of pods.logs(key, { container })) await writeAll(process.stdout, data);
    return;
  }
  if (stdin && tty && !quiet) process.stderr.write("If you don't see a command prompt, try pressing enter.\n");
  const log = (options: PodLogOptions = {}) => pods.logs(key, { container, ...options });
  const before = await collectLog(log());
  const stream = pods.attach(key, { container, stdin, stdout: true, stderr: !tty, tty });
  const ended = async () => statusOf(await pods.get(key), container)?.state?.terminated !== undefined;
  await joinTerminal({ ...stream, output: () => wholeOutput(stream.output(), { log, before, ended }) }, terminal);
}

/** Waits until it runs or has ended, and says why it takes long. */
async function started(
  { pods }: Pick<Client, 'pods'>,
  { container, ...key }: Pick<Attached, 'namespace' | 'name' | 'container'>,
): Promise<ContainerStatus> {
  const never = new AbortController().signal;
  let told = '';
  for (;;) {
    const pod = await pods.get(key);
    const status = statusOf(pod, container);
    const { running, terminated, waiting } = status?.state ?? {};
    if (status !== undefined && (running !== undefined || terminated !== undefined)) return status;
    const { phase = '', message } = pod.status ?? {};
    if (phase === 'Succeeded' || phase === 'Failed')
      throw badRequest(`cannot debug pod "${key.name}": it has ended (${phase}${message ? `: ${message}` : ''})`);
    if (waiting?.message && waiting.message !== told) {
      told = waiting.message;
      process.stderr.write(`Warning: container ${container}: ${told}\n`);
    }
    await pause(lookEveryMs, never);
  }
}

function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  const all = [...(status?.ephemeralContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all.find((each) => each.name === name);
}
