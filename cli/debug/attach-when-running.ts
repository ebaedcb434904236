import { badRequest } from '../../api/errors/index.ts';
import type { ContainerStatus, Pod } from '../../api/generated/types.ts';
import { pause } from '../../client/clock.ts';
import type { Client } from '../../client/index.ts';
import { attachFromStart } from '../terminal/attach-from-start.ts';
import type { TerminalOptions } from '../terminal/terminal.ts';

interface Attached {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly terminal: TerminalOptions;
  readonly quiet: boolean;
}

const lookEveryMs = 200;

/** Joins a container as soon as it runs or has ended, and shows all that it wrote. Throws ApiError. */
export async function attachWhenRunning(client: Client, { container, terminal, quiet, ...key }: Attached): Promise<void> {
  const { state } = await started(client, { container, ...key });
  if (state?.running !== undefined && terminal.stdin && terminal.tty && !quiet)
    process.stderr.write("If you don't see a command prompt, try pressing enter.\n");
  await attachFromStart(client, { container, ...key }, terminal);
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
