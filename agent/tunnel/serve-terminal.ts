import { badRequest } from '../../api/errors/index.ts';
import type { PodAttachStart, PodExecOptions } from '../../api/generated/types.ts';
import type { TunnelStream } from '../../client/client.ts';
import type { AttachSession } from '../runtime/runtime.ts';
import { chooseForAttach, chooseForLogs, chooseRunning } from './choose-container.ts';
import type { StreamRequest } from './stream-request.ts';

/** Runs a command, its input and output no faster than the other side. Throws ApiError or RuntimeError. */
export async function serveExec({ access, record, signal }: StreamRequest, options: PodExecOptions, stream: TunnelStream) {
  const command = options.command ?? [];
  if (command.length === 0) throw badRequest('exec needs a command');
  const container = chooseRunning(record, options.container);
  const session = await access.exec(container.id, { command, tty: options.tty === true, stdin: options.stdin === true }, signal);
  try {
    // Ends by itself when the stream does; what goes wrong with the input is not the output's affair.
    void forwardInput(session, stream, 'exec').catch(() => {});
    for await (const { stream: name, data } of session.output()) await stream.write({ exec: { [name]: asBuffer(data) } });
    await stream.write({ exec: { exit: { code: await session.exitCode() } } });
  } finally {
    session.close();
  }
}

/**
 * Joins a container's standard streams until it ends, or gives all that it wrote since its start.
 * Throws ApiError or RuntimeError.
 */
export async function serveAttach(
  { access, record, signal }: StreamRequest,
  { options = {}, fromStart = false }: PodAttachStart,
  stream: TunnelStream,
) {
  const wanted = options.container;
  const { stdin = false, stdout = true, stderr = true } = options;
  const container = fromStart
    ? chooseForLogs(record, { wanted, previous: false, containerID: '' })
    : chooseForAttach(record, wanted, stdin);
  const session = await access.attach(container.id, { stdin, stdout, stderr, fromStart }, signal);
  try {
    void forwardInput(session, stream, 'attach').catch(() => {});
    if (fromStart) await stream.write({ attach: { fromStart: {} } });
    for await (const { stream: name, data } of session.output()) await stream.write({ attach: { [name]: asBuffer(data) } });
  } finally {
    session.close();
  }
}

async function forwardInput(session: AttachSession, stream: TunnelStream, kind: 'exec' | 'attach'): Promise<void> {
  for await (const { stdin, stdinClose, resize } of stream.input(kind)) {
    if (stdin !== undefined) await session.write(stdin);
    if (stdinClose !== undefined) await session.closeInput();
    // Not waited for: what is typed meanwhile must not wait for a terminal that is not there yet.
    if (resize !== undefined) session.resize(resize.width ?? 0, resize.height ?? 0).catch(() => {});
  }
}

/** The same bytes, not copied. */
export function asBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
