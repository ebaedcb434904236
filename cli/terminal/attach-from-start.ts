import { isInvalid } from '../../api/errors/index.ts';
import type { AttachedStream, Client, ExecOutput } from '../../client/index.ts';
import { joinTerminal, type TerminalOptions } from './terminal.ts';

/** A container that runs or has ended. */
export interface StartedContainer {
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
}

/**
 * Joins this terminal with a container until it ends, and shows all that it wrote since its start: each byte once, also
 * of one that had ended before. Throws ApiError.
 */
export async function attachFromStart(
  { pods }: Pick<Client, 'pods'>,
  { container, ...key }: StartedContainer,
  terminal: TerminalOptions,
): Promise<void> {
  const { stdin, tty } = terminal;
  const options = { container, stdin, stdout: true, stderr: !tty, tty };
  const stream = pods.attach({ ...key, fromStart: true }, options);
  await joinTerminal({ ...stream, output: () => outputOf(stream, () => pods.logs(key, { container })) }, terminal);
}

/**
 * An agent of the minor version before gives what follows only, and refuses to join what has ended:
 * then the log is all there is.
 */
export async function* outputOf(
  stream: Pick<AttachedStream, 'output' | 'isFromStart'>,
  log: () => AsyncIterable<Buffer>,
): AsyncGenerator<ExecOutput> {
  let isEmpty = true;
  try {
    for await (const piece of stream.output()) {
      isEmpty &&= piece.data.length === 0;
      yield piece;
    }
  } catch (error) {
    if (stream.isFromStart() || !isEmpty || !isInvalid(error)) throw error;
  }
  if (stream.isFromStart() || !isEmpty) return;
  for await (const data of log()) yield { stream: 'stdout', data };
}
